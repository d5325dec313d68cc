// The registers and memories of a Verilated model, by name: those that registers.vlt makes public.

#pragma once

#include <verilated.h>
#include <verilated_sym_props.h>
#include <verilated_syms.h>

#include <cstdint>
#include <string>
#include <vector>

namespace sluice::dv {

struct Register {
  std::string module;  // type
  std::string path;    // instances from the unit down, without indices, and the name
  char* data;
  size_t elements;  // of a memory; else 1
  size_t element_bytes;
  size_t element_bits;

  size_t bits() const { return elements * element_bits; }
  void Flip(size_t bit) const {
    const size_t at = bit % element_bits;
    data[bit / element_bits * element_bytes + at / 8] ^= static_cast<char>(1 << at % 8);
  }
};

// "TOP.sluice_unit.g_way[1].u_decoder" is "g_way.u_decoder".
inline std::string InstancePath(const std::string& scope) {
  std::string path;
  bool index = false;
  for (const char c : scope) {
    index = (index || c == '[') && c != ']';
    if (!index && c != ']') {
      path += c;
    }
  }
  const size_t top = path.find('.');
  const size_t below = top == std::string::npos ? top : path.find('.', top + 1);
  return below == std::string::npos ? "" : path.substr(below + 1);
}

// In the same order for every model of the same class.
inline std::vector<Register> Registers(VerilatedContext& context) {
  std::vector<Register> registers;
  for (const auto& [name, scope] : *context.scopeNameMap()) {
    if (scope->varsp() == nullptr) {
      continue;
    }
    for (const auto& [variable, var] : *scope->varsp()) {
      Register reg;
      reg.module = scope->defname();
      reg.path = InstancePath(name);
      reg.path += reg.path.empty() ? "" : ".";
      reg.path += variable;
      reg.data = static_cast<char*>(var.datap());
      reg.element_bytes = var.entSize();
      reg.element_bits = var.entBits();
      reg.elements = var.totalSize() / var.entSize();
      registers.push_back(std::move(reg));
    }
  }
  return registers;
}

}  // namespace sluice::dv
