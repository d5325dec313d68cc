#!/usr/bin/env python3
"""Turns abi/sluice.rdl into a C++ header, a SystemVerilog package and a Markdown page.

usage: generate.py sluice.rdl OUTPUT_DIR
"""

import pathlib
import sys

from systemrdl import RDLCompiler
from systemrdl.node import AddrmapNode, RegNode

MAPS = ["control", "capability", "card", "job", "table_descriptor", "table_record", "completion"]
ENUMS = ["merge_status", "stall"]
VERSION = 3
MAGIC = 0x51CE
# Beyond these, lengths would not fit the unit's counters.
LIMITS = {
    "value_bytes_limit": (2**28 - 1, "longest value"),
    "block_bytes_limit": (2**30, "most that BLOCK_BYTES of a job may say"),
}


def compile_maps(path):
    """The elaborated address maps of the file, in the order of MAPS."""
    nodes = []
    for name in MAPS:
        compiler = RDLCompiler()
        compiler.compile_file(path)
        nodes.append(compiler.elaborate(top_def_name=name).top)
    return nodes


def registers(node: AddrmapNode):
    for child in node.children(unroll=False):
        if isinstance(child, RegNode):
            count = child.array_dimensions[0] if child.is_array else 1
            yield child, child.raw_address_offset, count


def windows(node: AddrmapNode):
    """Arrays of address maps within one: the map, its first offset, stride and count."""
    for child in node.children(unroll=False):
        if isinstance(child, AddrmapNode):
            yield child, child.raw_address_offset, child.array_stride, child.array_dimensions[0]


def enums(nodes):
    """Name, bits and members of each enumeration; as wide as its field, or as its members need."""
    found = {}
    for node in nodes:
        for reg, _, _ in registers(node):
            for field in reg.fields():
                encode = field.get_property("encode")
                if encode is not None:
                    need = max(m.value for m in encode).bit_length()
                    width = field.width if field.width <= 8 else need
                    found[encode.type_name] = (width, list(encode))
    return [(name, *found[name]) for name in ENUMS]


def size_of(node):
    return max(offset + count * reg.get_property("regwidth") // 8 for reg, offset, count in registers(node))


def field_name(field):
    return field.inst_name.rstrip("_")


def camel(name):
    return "".join(part.capitalize() for part in name.lower().split("_"))


def cpp(nodes):
    out = [
        "// Generated from abi/sluice.rdl. Do not edit.",
        "",
        "#pragma once",
        "",
        "#include <cstddef>",
        "#include <cstdint>",
        "",
        "namespace sluice::abi {",
        "",
        f"inline constexpr uint32_t kMagic = {MAGIC:#x};",
        f"inline constexpr uint32_t kVersion = {VERSION};",
    ]
    out += [f"inline constexpr uint32_t k{camel(n)} = {v:#x};  // {desc}" for n, (v, desc) in LIMITS.items()]
    for name, width, members in enums(nodes):
        out += ["", f"enum class {camel(name)} : uint8_t {{"]
        out += [f"  k{camel(m.name)} = {m.value},  // {m.rdl_desc}" for m in members]
        out += ["};", f"inline constexpr size_t k{camel(name)}Count = {len(members)};"]
        out += [f"inline constexpr const char* k{camel(name)}Names[] = {{"]
        out += [f'    "{m.name.lower()}",' for m in members]
        out += ["};", f"inline constexpr const char* k{camel(name)}Texts[] = {{"]
        out += [f'    "{m.rdl_desc}",' for m in members]
        out += ["};"]
    for node in nodes:
        out += ["", f"// {node.get_property('desc')}", f"namespace {node.inst_name} {{", ""]
        out.append(f"inline constexpr size_t kBytes = {size_of(node):#x};")
        for child, offset, stride, count in windows(node):
            name = camel(child.inst_name)
            out.append(f"inline constexpr size_t k{name} = {offset:#x};  // {child.get_property('name')}")
            out.append(f"inline constexpr size_t k{name}Stride = {stride:#x};")
            out.append(f"inline constexpr size_t k{name}Count = {count};")
        for reg, offset, count in registers(node):
            name = camel(reg.inst_name)
            out.append(f"inline constexpr size_t k{name} = {offset:#x};  // {reg.get_property('desc')}")
            if count > 1:
                out.append(f"inline constexpr size_t k{name}Count = {count};")
            for field in reg.fields():
                if field.width < reg.get_property("regwidth"):
                    out.append(f"inline constexpr unsigned k{name}{camel(field_name(field))}Shift = {field.low};")
                    out.append(
                        f"inline constexpr uint64_t k{name}{camel(field_name(field))}Mask = {(1 << field.width) - 1:#x};"
                    )
        out += ["", f"}}  // namespace {node.inst_name}"]
    return "\n".join(out + ["", "}  // namespace sluice::abi", ""])


def sv(nodes):
    out = [
        "// Generated from abi/sluice.rdl. Do not edit.",
        "",
        "/* verilator lint_off UNUSEDPARAM */",
        "package sluice_abi_pkg;",
        "",
        f"  localparam logic [15:0] Magic = 16'h{MAGIC:x};",
        f"  localparam logic [7:0] Version = 8'd{VERSION};",
    ]
    out += [f"  localparam int unsigned {camel(n)} = 32'h{v:x};  // {desc}" for n, (v, desc) in LIMITS.items()]
    for name, width, members in enums(nodes):
        prefix = camel(name)
        out += ["", f"  typedef enum logic [{width - 1}:0] {{"]
        out.append(",\n".join(f"    {prefix}{camel(m.name)} = {width}'d{m.value}" for m in members))
        out += [f"  }} {name}_e;", f"  localparam int unsigned {prefix}Count = {len(members)};"]
    for node in nodes:
        prefix = camel(node.inst_name)
        out += ["", f"  // {node.get_property('name')}"]
        out.append(f"  localparam int unsigned {prefix}Bytes = {size_of(node)};")
        for child, offset, stride, count in windows(node):
            name = prefix + camel(child.inst_name)
            out.append(f"  localparam int unsigned {name} = {offset};")
            out.append(f"  localparam int unsigned {name}Stride = {stride};")
            out.append(f"  localparam int unsigned {name}Count = {count};")
        for reg, offset, count in registers(node):
            out.append(f"  localparam int unsigned {prefix}{camel(reg.inst_name)} = {offset};")
            if count > 1:
                out.append(f"  localparam int unsigned {prefix}{camel(reg.inst_name)}Count = {count};")
            for field in reg.fields():
                if field.width < reg.get_property("regwidth"):
                    base = f"{prefix}{camel(reg.inst_name)}{camel(field_name(field))}"
                    out.append(f"  localparam int unsigned {base}Lsb = {field.low};")
                    out.append(f"  localparam int unsigned {base}Width = {field.width};")
    return "\n".join(out + ["", "endpackage", "/* verilator lint_on UNUSEDPARAM */", ""])


def markdown(nodes):
    out = ["# Registers and structures", "", "Generated from `abi/sluice.rdl`.", ""]
    out += ["| limit | bytes | of |", "|---|---|---|"]
    out += [f"| `{name.upper()}` | {value} | {desc} |" for name, (value, desc) in LIMITS.items()]
    out.append("")
    for node in nodes:
        out += [f"## {node.get_property('name')}", "", node.get_property("desc"), ""]
        out += ["| offset | name | bits | field | meaning |", "|---|---|---|---|---|"]
        for child, offset, stride, count in windows(node):
            name = f"{child.inst_name}[{count}]"
            out.append(f"| {offset:#04x} | `{name}` | | | {child.get_property('name')}, every {stride:#x} bytes |")
        for reg, offset, count in registers(node):
            name = reg.inst_name + (f"[{count}]" if count > 1 else "")
            out.append(f"| {offset:#04x} | `{name}` | | | {reg.get_property('desc')} |")
            for field in reg.fields():
                out.append(f"| | | {field.high}:{field.low} | `{field_name(field)}` | {field.get_property('desc')} |")
        out.append("")
    for name, width, members in enums(nodes):
        out += [f"## {name}", "", "| value | name | meaning |", "|---|---|---|"]
        out += [f"| {m.value} | `{m.name}` | {m.rdl_desc} |" for m in members]
        out.append("")
    return "\n".join(out)


def main():
    source, directory = sys.argv[1], pathlib.Path(sys.argv[2])
    nodes = compile_maps(source)
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "sluice_abi.h").write_text(cpp(nodes))
    (directory / "sluice_abi_pkg.sv").write_text(sv(nodes))
    (directory / "abi.md").write_text(markdown(nodes))


if __name__ == "__main__":
    main()
