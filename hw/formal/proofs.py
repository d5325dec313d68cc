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
    ("cu_fifo", "rptr_q <= (rptr_q == LastSlot) ? '0",
     "rptr_q <= (rptr_q == LastSlot - 1'b1) ? '0"),
    ("cu_fifo", "rvalid_o = count_q != '0", "rvalid_o = count_q > CountBits'(1)"),
    ("cu_fifo", "(up ? ones : zeros)", "ones"),
]
RAM_FIFO_MUTATIONS = [
    ("cu_ram_fifo", "full_d = count_q == CountBits'(Depth - 1)", "full_d = 1'b0"),
    ("cu_ram_fifo", "load ? stored_q != CountBits'(1)", "load ? stored_q != '0"),
    ("cu_ram_fifo", "(up ? ones : zeros)", "zeros"),
    ("cu_ram_fifo", "else if (pop) rvalid_q",
     "else if (rready_i) rvalid_q <= 1'b1; else if (pop) rvalid_q"),
    ("cu_ram_fifo", "(~rvalid_q | rready_i)", "1'b1"),
    ("cu_ram_fifo", "stored_any_q != (stored_q != '0)", "stored_any_q != (stored_q > CountBits'(1))"),
    ("cu_ram_fifo", "full_q != (count_q == CountBits'(Depth))", "full_q"),
    ("cu_ram_fifo", "count_q != stored_q + CountBits'(rvalid_q)", "count_q != stored_q"),
]

BLOCK_CHUNKS_SAYS = "the chunks that hold a block's bytes, once, in order, ends marked"

READ_ENGINE = ["cu_crc_pkg", "cu_crc_step", "cu_crc_unwind", "cu_choice", "cu_fifo",
               "cu_ram_fifo", "cu_read_engine"]

PROOFS = {
    "fifo_4": Proof("f_fifo", ["cu_fifo", "cu_ram_fifo"], FIFO_SAYS,
                    parameters={"Depth": 4}),
    "fifo_5": Proof("f_fifo", ["cu_fifo", "cu_ram_fifo"], FIFO_SAYS,
                    parameters={"Depth": 5}, mutations=FIFO_MUTATIONS),
    "ram_fifo_5": Proof("f_fifo", ["cu_fifo", "cu_ram_fifo"],
                        FIFO_SAYS + "; counters and flags agree",
                        parameters={"Depth": 5, "Ram": 1}, mutations=RAM_FIFO_MUTATIONS),
    "register_slice": Proof(
        "f_register_slice", ["cu_register_slice"],
        "no word lost, doubled or out of order; takes and gives one in every cycle; output held",
        mutations=[
            ("cu_register_slice", "spare_valid_q ? spare_q : wdata_i", "wdata_i"),
            ("cu_register_slice", "~valid_q | rready_i", "1'b1"),
            ("cu_register_slice", "if (ready_q) spare_q", "spare_q"),
            ("cu_register_slice", "ready_q       <= ~(spare_valid_q | push)", "ready_q       <= 1'b0"),
            ("cu_register_slice", "valid_q       <= spare_valid_q | push", "valid_q       <= push"),
        ],
    ),
    "commit_fifo": Proof(
        "f_commit_fifo", ["cu_commit_fifo"],
        "committed words come once, in order; dropped ones never; full and empty exact",
        mutations=[
            ("cu_commit_fifo", "drop_i ? commit_q : write_next", "write_next"),
            ("cu_commit_fifo", "commit_q <= write_next", "commit_q <= write_q"),
            ("cu_commit_fifo", "commit || read_q != commit_q", "commit || read_q != write_q"),
            ("cu_commit_fifo", "read_next != commit_q", "read_q != commit_q"),
            ("cu_commit_fifo", "if (pop) full_q <= 1'b0", "if (1'b0) full_q <= 1'b0"),
            ("cu_commit_fifo", "(write_next ^ read_q)", "(write_q ^ read_q)"),
        ],
    ),
    "commit_fifo_block_ram": Proof(
        "f_commit_fifo", ["cu_commit_fifo"],
        "the same; not empty for a cycle at most before a word can be read",
        parameters={"BlockRam": 1},
        mutations=[
            ("cu_commit_fifo", "valid_q && (!rvalid_q || rready_i)", "valid_q"),
            ("cu_commit_fifo", "rvalid_q <= valid_q", "rvalid_q <= 1'b1"),
        ],
    ),
    "credit": Proof(
        "f_credit", ["cu_credit"], "credit exactly while fewer than Depth places are taken",
        mutations=[("cu_credit", "give_i != take_i", "give_i || take_i"),
                   ("cu_credit", "(up ? ones : zeros)", "ones"),
                   ("cu_credit", "~take_i & (every", "(every"),
                   ("cu_credit", "(one & take_i)", "one")],
    ),
    "round_robin": Proof(
        "f_round_robin", ["cu_round_robin"],
        "one pick, of those who ask, kept until served; none passed over Clients times",
        mutations=[
            ("cu_round_robin", "~(pick_o | (pick_o - 1'b1))", "'0"),
            ("cu_round_robin", "first & (~first + 1'b1)", "first"),
        ],
    ),
    "byte_packer": Proof(
        "f_byte_packer", ["cu_byte_mux", "cu_byte_rotate", "cu_byte_packer"],
        "bytes in = bytes out, in order; ends and tokens with a block's last byte; level bounded",
        parameters={"Bytes": 2},
        mutations=[
            ("cu_byte_packer", "full && spill != '0", "full"),
            ("cu_byte_packer", "accept ? in_i.bytes[PosBits-1:0] : '0", "'0"),
            ("cu_byte_packer", "flush_q || full || i >=", "flush_q || i >="),
            ("cu_byte_packer", "flush_q && i >= int'(pos_q)", "1'b0"),
            ("cu_byte_packer", "turn = flush_q ? '0 : pos_q", "turn = pos_q"),
            ("cu_byte_packer", "room && (!flush_q || (!full_chunk(in_i.bytes) && !in_i.last))",
             "room && (!flush_q || !in_i.last)"),
        ],
    ),
    "block_chunks": Proof(
        "f_block_chunks", ["cu_block_chunks"], BLOCK_CHUNKS_SAYS,
        method="induction", depth=1,
        mutations=[
            ("cu_block_chunks", "load & (last_q | (index_q == IndexBits'(Chunks - 1)))",
             "load & last_q"),
            ("cu_block_chunks", "if (load) chunk_valid_q", "if (1'b0) chunk_valid_q"),
            ("cu_block_chunks", "less = ~begins | last_lane[PosBits+1]", "less = ~begins"),
            ("cu_block_chunks", "~last_lane[PosBits+1] & last_lane[PosBits]", "last_lane[PosBits]"),
            ("cu_block_chunks", "first_index  = block_lane_i[LaneBits-1:PosBits]",
             "first_index  = '0"),
            ("cu_block_chunks", "left_q == LeftBits'(1)", "left_q == LeftBits'(2)"),
        ],
    ),
    "block_chunks_whole": Proof(
        "f_block_chunks", ["cu_block_chunks"],
        BLOCK_CHUNKS_SAYS + "; bus as wide", method="induction", depth=1,
        parameters={"BusBytes": 8},
        mutations=[
            ("cu_block_chunks", "if (block_ready_o) busy_q <= block_valid_i",
             "busy_q <= block_valid_i"),
        ],
    ),
    "byte_window": Proof(
        "f_byte_window", ["cu_byte_mux", "cu_byte_rotate", "cu_byte_window"],
        "the bytes of each block once, in order, soon; head and next position as said ahead; flushes",
        method="induction", depth=1,
        mutations=[
            ("cu_byte_window", "first & (last | second)", "first"),
            ("cu_byte_window", "enough(flushed.load, flushed.first[0])",
             "enough(stay.load, stay.first[0])"),
            ("cu_byte_window", "enough(crossed.load, crossed.first[0])",
             "enough(stay.load, stay.first[0])"),
            ("cu_byte_window", "flush_one ? 2'd1 : lo_valid", "lo_valid"),
            ("cu_byte_window", "lo_last ? empty : without_lo", "without_lo"),
            ("cu_byte_window", "lo_valid & (lo_last | ~hi_valid)", "lo_valid & ~hi_valid"),
            ("cu_byte_window", "(flush_one & hi_valid) ? start", "flush_one ? start"),
            ("cu_byte_window", ".pos_i(ahead.pos)", ".pos_i(pos_q)"),
            ("cu_byte_window", "ahead.first[0] ^ ahead_from_second[i]", "low ^ ahead_from_second[i]"),
            ("cu_byte_window", "mem[{ahead_rows[ahead_bank], ahead_bank}]",
             "mem[{rows[ahead_bank], ahead_bank}]"),
            ("cu_byte_window", "lanes_below(sum(pos_q, ahead_bytes_i))", "lanes_below(pos_q)"),
            ("cu_byte_window", "ahead_flush_i ? flushed.pos : stay.pos", "stay.pos"),
            ("cu_byte_window", "more_tag_q[b].valid ? more_tag_q[b] : in_tag[b]", "in_tag[b]"),
            ("cu_byte_window", "chunk_ready_o = ~more_tag_q[in_q[0]].valid",
             "chunk_ready_o = ~next_tag_q[in_q[0]].valid"),
            ("cu_byte_window", "in_parity[i] = ^chunk_data_i[8*i+:8]",
             "in_parity[i] = ^chunk_data_i[8*i+:7]"),
        ],
    ),
    "byte_window_16": Proof(
        "f_byte_window", ["cu_byte_mux", "cu_byte_rotate", "cu_byte_window"],
        "the same at V = 16, where the head has a copy of the bytes",
        method="bmc", depth=6, parameters={"V": 16, "Invariants": 0}, fast=False,
        mutations=[
            ("cu_byte_window", "ahead_from_second = ahead.pos[PosBits-1]", "ahead_from_second = 1'b0"),
            ("cu_byte_window", "high_mem[ahead.first]", "high_mem[first_q]"),
            ("cu_byte_window", "low_mem[in_q]  <=", "low_mem[first_q] <="),
            ("cu_byte_window", "low_mem[{ahead_rows[bank], bank}]", "low_mem[{rows[bank], bank}]"),
        ],
    ),
    "axi_read_arbiter": Proof(
        "f_axi_read_arbiter", ["cu_fifo", "cu_round_robin", "cu_axi_read_arbiter"],
        "AXI4: held until taken; answers to whom they are for; turns, budgets, isolation",
        mutations=[
            ("cu_axi_read_arbiter", "~arvalid_q | m_axi_arready_i", "1'b1"),
            ("cu_axi_read_arbiter", ".rready_i(r_end)", ".rready_i(r_beat)"),
            ("cu_axi_read_arbiter", "count_q != BudgetBits'(Budget)", "1'b1"),
            ("cu_axi_read_arbiter", "& roomy & ~isolate_i", "& roomy"),
            ("cu_axi_read_arbiter", "(s_axi_rready_i | isolate_i)", "s_axi_rready_i"),
            ("cu_round_robin", "~(pick_o | (pick_o - 1'b1))", "'0"),
        ],
    ),
    "axi_write_arbiter": Proof(
        "f_axi_write_arbiter", ["cu_fifo", "cu_round_robin", "cu_axi_write_arbiter"],
        "AXI4: held until taken; each burst its unit's beats, order, turns, budgets, isolation",
        mutations=[
            ("cu_axi_write_arbiter", "~awvalid_q | m_axi_awready_i", "1'b1"),
            ("cu_axi_write_arbiter", "w_last = beat_q == owner_len", "w_last = 1'b1"),
            ("cu_axi_write_arbiter", "owner[u] && !isolate_i[u]", "owner[u]"),
            ("cu_axi_write_arbiter", "count_q != BudgetBits'(Budget)", "1'b1"),
            ("cu_axi_write_arbiter", "owner_valid & (w_gone | |(owner & s_axi_wvalid_i))",
             "owner_valid & |(owner & s_axi_wvalid_i)"),
            ("cu_axi_write_arbiter", ".rready_i(w_push & w_last)", ".rready_i(w_push)"),
        ],
    ),
    "axi_read_window": Proof(
        "f_axi_read_window",
        ["cu_fifo", "cu_round_robin", "cu_axi_read_arbiter", "cu_axi_read_window"],
        "no burst outside its unit's window; each answered once, in order, DECERR if refused; resets",
        method="induction", depth=1,
        mutations=[
            ("cu_axi_read_window", "s_axi_arpage_i < 52'(limit_i)", "s_axi_arpage_i[31:0] < limit_i"),
            ("cu_axi_read_window", ">= 52'(base_i)", "> 52'(base_i)"),
            ("cu_axi_read_window", "~refuse_q & (count_q == '0)", "~refuse_q"),
            ("cu_axi_read_window", "s_axi_arvalid_i & in_window & ~refuse_q",
             "s_axi_arvalid_i & in_window"),
            ("cu_axi_read_window", "else if (s_axi_rready_i) left_q", "else left_q"),
            ("cu_axi_read_window", "s_axi_rready_i & m_axi_rlast_i", "s_axi_rready_i"),
            ("cu_axi_read_window", "refuse_q ? DecodeError : m_axi_rresp_i", "m_axi_rresp_i"),
            ("cu_axi_read_arbiter", "& roomy & ~isolate_i", "& roomy"),
        ],
    ),
    "axi_write_window": Proof(
        "f_axi_write_window",
        ["cu_fifo", "cu_round_robin", "cu_axi_write_arbiter", "cu_axi_write_window"],
        "no burst or beat outside its unit's window; each burst answered once, in order, DECERR if"
        " refused; resets",
        method="induction", depth=1,
        mutations=[
            ("cu_axi_write_window", "s_axi_awpage_i < 52'(limit_i)",
             "s_axi_awpage_i[31:0] < limit_i"),
            ("cu_axi_write_window", ">= 52'(base_i)", "> 52'(base_i)"),
            ("cu_axi_write_window", "~in_window & (count_q == '0)", "~in_window"),
            ("cu_axi_write_window", "m_axi_wready_i : state_q == Swallow", "m_axi_wready_i : 1'b1"),
            ("cu_axi_write_window", "s_axi_wvalid_i && s_axi_wlast_i", "s_axi_wvalid_i"),
            ("cu_axi_write_window", "(state_q == Answer) ? DecodeError : m_axi_bresp_i",
             "m_axi_bresp_i"),
            ("cu_axi_write_window", "if (s_axi_bready_i) state_d", "state_d"),
            ("cu_axi_write_arbiter", "owner[u] && !isolate_i[u]", "owner[u]"),
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
    "merge_node": Proof(
        "f_merge_node", ["cu_fifo", "cu_wide_fifo", "cu_compare", "cu_key_queue", "cu_merge_node"],
        "output held; sorted by key and trailer, ties to the lower way; each key of each way once,"
        " whole and in order; end after all keys, once; never stands still",
        method="induction", depth=1,
        mutations=[
            ("cu_merge_node", "move_d.out      = 1'b1", "move_d.out      = 1'b0"),
            ("cu_merge_node", "return {beat.eos, data", "return {1'b0, data"),
            ("cu_merge_node", "same && a_next.last && trailer_less",
             "same && a_next.last && !trailer_less"),
            ("cu_merge_node", "data, !beat.last, beat.bytes", "data, beat.last, beat.bytes"),
            ("cu_merge_node", "move_d.rewind_b = !b_less && !go_on", "move_d.rewind_b = 1'b0"),
            ("cu_merge_node", "b.last ? Compare : DrainB", "Compare"),
            ("cu_merge_node", "count + CountBits'(push) - CountBits'(pop) != CountBits'(Depth)",
             "count != CountBits'(Depth)"),
            ("cu_key_queue", "if (free_i) base_q", "if (pop_i) base_q"),
            ("cu_key_queue", "!full && !key_full", "!full"),
            ("cu_key_queue", "in_i.last && key_full_next", "1'b0"),
            ("cu_key_queue", "(free_i && head_q.last) ||", "free_i ||"),
            ("cu_key_queue", "key_read_d = (free_i && head_q.last)", "key_read_d = free_i"),
        ],
    ),
    "write_engine_axi": Proof(
        "f_write_engine", ["cu_fifo", "cu_ram_fifo", "cu_write_engine"],
        "AXI4: held until taken, no 4 KiB crossing, WLAST, bursts in flight, idle, halt",
        method="induction", depth=2,
        mutations=[
            ("cu_write_engine", "reaches ? AvailBits'(to_boundary) : avail_q", "avail_q"),
            ("cu_write_engine", "&& flight_q != FlightBits'(MaxOutstanding)", ""),
            ("cu_write_engine", "m_axi_wlast_o   = beat_q == length", "m_axi_wlast_o   = 1'b1"),
            ("cu_write_engine", "(!aw_valid_q || m_axi_awready_i)", "1'b1"),
        ],
    ),
    "write_engine_area": Proof(
        "f_write_engine", ["cu_fifo", "cu_ram_fifo", "cu_write_engine"],
        "bursts follow each other without gap (address modulo 4 KiB), within the area",
        parameters={"Check": 1}, method="bmc", depth=16, fast=False,
        mutations=[
            ("cu_write_engine", "push_beat && !none_left", "push_beat"),
            ("cu_write_engine", "addr_q + (64-BusBits)'(burst)", "addr_q + 1'b1"),
        ],
    ),
    "write_engine_words": Proof(
        "f_write_engine", ["cu_fifo", "cu_ram_fifo", "cu_write_engine"],
        "each word of the input is written once, at its place; done after the last answer",
        parameters={"Check": 2}, method="bmc", depth=14, fast=False,
        mutations=[
            ("cu_write_engine", "if (swallow || (push ? aligned_next : aligned))",
             "if (swallow || aligned)"),
            ("cu_write_engine", "avail_q == '0 && flight_q == '0", "avail_q == '0"),
            ("cu_write_engine", "AvailBits'(FifoBeats - 3)", "AvailBits'(FifoBeats)"),
        ],
    ),
    "read_engine_axi": Proof(
        "f_read_engine", READ_ENGINE,
        "AXI4: held until taken, aligned, no 4 KiB crossing, length; halt; idle only when answered",
        method="induction", depth=2,
        mutations=[
            ("cu_read_engine", "~addr_q[LaneBits+:BurstBits]", "'1"),
            ("cu_read_engine", "~arvalid_q | m_axi_arready_i", "1'b1"),
            ("cu_read_engine", "ar_free & burst_ready & ~halt_i", "ar_free & burst_ready"),
        ],
    ),
    "read_engine_bursts": Proof(
        "f_read_engine", READ_ENGINE,
        "bursts cover each request once, in order, nothing else; no client passed over for long",
        parameters={"Check": 1}, method="bmc", depth=10, fast=False,
        mutations=[
            ("cu_read_engine", "{addr_q[AddrBits-1:LaneBits+BurstBits] + 1'b1, BurstBits'(0)}",
             "addr_q + 1'b1"),
            ("cu_read_engine", "~LeftBits'(to_boundary)", "-LeftBits'(to_boundary)"),
            ("cu_read_engine", "+ (LaneBits + 2)'(W - 1)", "+ (LaneBits + 2)'(W)"),
            ("cu_read_engine", "left_q[BeatBits-1:0] <= BeatBits'(to_boundary) + 1'b1",
             "left_q[BeatBits-1:0] <= BeatBits'(to_boundary)"),
        ],
    ),
    "read_engine_beats": Proof(
        "f_read_engine", READ_ENGINE,
        "each client gets its requests' beats in order; a done each, after them, with bus errors",
        parameters={"Check": 2}, method="bmc", depth=14, fast=False,
        mutations=[
            ("cu_read_engine", "error: m_axi_rresp_i != 2'b00", "error: 1'b0"),
            ("cu_read_engine", "valid: s2_q.valid & s2_q.last,", "valid: s2_q.valid,"),
        ],
    ),
    "snappy_decoder": Proof(
        "f_snappy_decoder",
        ["cu_fifo", "cu_twin", "cu_snappy_trim", "cu_snappy_walker", "cu_snappy_parser",
         "cu_snappy_history", "cu_snappy_decoder"],
        "of blocks of up to 5 bytes that say 8 at most what Snappy's format says, or that they are"
        " corrupt",
        method="bmc", depth=34, fast=False,
        mutations=[
            ("cu_snappy_walker", "next_t'(code) + (joined", "next_t'(code) + (!joined"),
            ("cu_snappy_walker", "(i < int'(walk_q.lane)) ? chunk_q[1]",
             "(i <= int'(walk_q.lane)) ? chunk_q[1]"),
            ("cu_snappy_parser", "7'(second[4:2]) + 7'd4", "7'(second[4:2]) + 7'd3"),
            ("cu_snappy_parser", "(measured_q.nothing || ", "("),
            ("cu_snappy_parser", "{1'b0, measured_q.offset} > reach",
             "{1'b0, measured_q.offset} >= reach"),
            ("cu_snappy_history", "copied = turned(source, c3_q.offset)", "copied = turned(source, '0)"),
        ],
    ),
}
