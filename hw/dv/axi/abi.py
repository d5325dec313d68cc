"""Registers and structures of abi/sluice.rdl, by name, for Python."""

import enum
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent.parent
sys.path.insert(0, str(ROOT / "abi"))
import generate  # noqa: E402  (found through the path set above)

_NODES = generate.compile_maps(str(ROOT / "abi/sluice.rdl"))
MAGIC, VERSION = generate.MAGIC, generate.VERSION


class Map:
    """An address map: offsets of its registers, and packing of its fields."""

    def __init__(self, node):
        self.bytes = generate.size_of(node)
        self.registers = {}  # name: (offset, bytes, count, {field: (low bit, width)})
        for register, offset, count in generate.registers(node):
            fields = {generate.field_name(f): (f.low, f.width) for f in register.fields()}
            size = register.get_property("regwidth") // 8
            self.registers[register.inst_name] = (offset, size, count, fields)

    def offset(self, register, index=0):
        offset, size, count, _ = self.registers[register]
        assert index < count
        return offset + index * size

    def pack(self, values):
        """Bytes with `values`: {"REGISTER" or ("REGISTER", index): {field: number} or number}."""
        out = bytearray(self.bytes)
        for name, value in values.items():
            register, index = name if isinstance(name, tuple) else (name, 0)
            _, size, _, fields = self.registers[register]
            word = 0
            for field, number in (value if isinstance(value, dict) else {"value": value}).items():
                low, width = fields[field]
                assert 0 <= number < 1 << width, (register, field, number)
                word |= number << low
            at = self.offset(register, index)
            out[at : at + size] = word.to_bytes(size, "little")
        return bytes(out)

    def unpack(self, data):
        """{"REGISTER": number, or {field: number} if it has several, or a list of an array's}."""
        result = {}
        for register, (offset, size, count, fields) in self.registers.items():
            words = []
            for i in range(count):
                at = offset + i * size
                word = int.from_bytes(data[at : at + size], "little")
                parts = {f: word >> low & (1 << w) - 1 for f, (low, w) in fields.items()}
                words.append(parts if list(parts) != ["value"] else parts["value"])
            result[register] = words if count > 1 else words[0]
        return result


_MAPS = {node.inst_name: Map(node) for node in _NODES}
CONTROL, CAPABILITY, JOB = _MAPS["control"], _MAPS["capability"], _MAPS["job"]
TABLE, RECORD, COMPLETION = (
    _MAPS[name] for name in ("table_descriptor", "table_record", "completion")
)
_ENUMS = {name: members for name, *_, members in generate.enums(_NODES)}
Status = enum.IntEnum("Status", {m.name: m.value for m in _ENUMS["merge_status"]})
