"""The proofs: what run.py runs."""

import dataclasses


@dataclasses.dataclass
class Proof:
    top: str  # harness: file and module of this directory
    modules: list  # of hw/rtl, packages first
    says: str
    method: str = "pdr"  # pdr, induction: for any number of cycles; bmc: up to `depth`
    depth: int = 20  # cycles: of bmc; of an induction's hypothesis
    parameters: dict = dataclasses.field(default_factory=dict)
    abi: bool = False  # needs the generated package
    fast: bool = True
    # Changes to the RTL, each of which the proof must notice: (module, text, replacement).
    mutations: list = dataclasses.field(default_factory=list)


FIFO_SAYS = "no word lost, doubled or out of order; full, empty and count exact; output held"
FIFO_MUTATIONS = [
    ("cu_fifo", "count_q != CountBits'(Depth)", "count_q != CountBits'(Depth - 1)"),
    ("cu_fifo", "rptr_q <= (rptr_q == LastSlot) ? '0", "rptr_q <= (rptr_q == LastSlot - 1'b1) ? '0"),
    ("cu_fifo", "rvalid_o = count_q != '0", "rvalid_o = count_q > CountBits'(1)"),
]
RAM_FIFO_MUTATIONS = [
    ("cu_ram_fifo", "full_q       <= count_d == CountBits'(Depth)",
     "full_q       <= count_d > CountBits'(Depth)"),
    ("cu_ram_fifo", "else if (pop) rvalid_q", "else if (rready_i) rvalid_q <= 1'b1; else if (pop) rvalid_q"),
    ("cu_ram_fifo", "(~rvalid_q | rready_i)", "1'b1"),
]

PROOFS = {
    "fifo_4": Proof("f_fifo", ["cu_fifo", "cu_ram_fifo"], FIFO_SAYS,
                    parameters={"Depth": 4}),
    "fifo_5": Proof("f_fifo", ["cu_fifo", "cu_ram_fifo"], FIFO_SAYS,
                    parameters={"Depth": 5}, mutations=FIFO_MUTATIONS),
    "ram_fifo_5": Proof("f_fifo", ["cu_fifo", "cu_ram_fifo"], FIFO_SAYS,
                        parameters={"Depth": 5, "Ram": 1}, mutations=RAM_FIFO_MUTATIONS),
    "commit_fifo": Proof(
        "f_commit_fifo", ["cu_commit_fifo"],
        "committed words come once, in order; dropped ones never; full and empty exact",
        mutations=[
            ("cu_commit_fifo", "drop_i ? commit_q : write_q + 1'b1", "write_q + 1'b1"),
            ("cu_commit_fifo", "commit_q <= write_q + 1'b1", "commit_q <= write_q"),
            ("cu_commit_fifo", "read_q != commit_q", "read_q != write_q"),
        ],
    ),
    "credit": Proof(
        "f_credit", ["cu_credit"], "credit exactly while fewer than Depth places are taken",
        mutations=[("cu_credit", "+ CountBits'(give_i) - CountBits'(take_i)",
                    "+ CountBits'(give_i & ~take_i) - CountBits'(take_i)")],
    ),
    "byte_packer": Proof(
        "f_byte_packer", ["cu_byte_packer"],
        "bytes in = bytes out, in order; ends and tokens with a block's last byte; level bounded",
        parameters={"Bytes": 2},
        mutations=[
            ("cu_byte_packer", "full && spill != '0", "full"),
            ("cu_byte_packer", "accept ? in_bytes_i[PosBits-1:0] : '0", "'0"),
            ("cu_byte_packer", "hold_rotated  = full", "hold_rotated  = 1'b0"),
            ("cu_byte_packer", "room && (!flush_q || (!full_chunk(in_bytes_i) && !in_last_i))",
             "room && (!flush_q || !in_last_i)"),
        ],
    ),
    "csr": Proof(
        "f_csr", ["cu_csr"], "AXI4-Lite: one answer each, held; job handshake; address reads back",
        abi=True,
        mutations=[
            ("cu_csr", "s_axi_wvalid_i & ~bvalid_q", "s_axi_wvalid_i"),
            ("cu_csr", "start_q & ~done_q & ~busy_q", "start_q & ~busy_q"),
            ("cu_csr", "arready_o = ~rvalid_q", "arready_o = 1'b1"),
            ("cu_csr", "(job_addr_q[31:0] & ~wmask) | wbits", "wbits"),
        ],
    ),
}
