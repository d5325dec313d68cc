// Restricts an AXI4 write master to a window of pages: a burst outside it is not forwarded; once
// all earlier bursts have been answered, its beats are discarded and it is answered with DECERR.
// Bursts must not cross a page, as AXI4 demands. Adds no latency to forwarded bursts.

`include "cu_assert.svh"

module cu_axi_write_window #(
  parameter int unsigned MaxOutstanding = 16  // bursts that the master may have outstanding
) (
  input  logic        clk_i,
  input  logic        rst_ni,  // synchronous; with the master's

  input  logic [31:0] base_i,   // first page of 4 KiB
  input  logic [31:0] limit_i,  // after the last

  // The master; addresses and data bypass this module.
  input  logic [51:0] s_axi_awpage_i,  // the address, in pages
  input  logic        s_axi_awvalid_i,
  output logic        s_axi_awready_o,
  input  logic        s_axi_wlast_i,
  input  logic        s_axi_wvalid_i,
  output logic        s_axi_wready_o,
  output logic [1:0]  s_axi_bresp_o,
  output logic        s_axi_bvalid_o,
  input  logic        s_axi_bready_i,

  output logic        m_axi_awvalid_o,
  input  logic        m_axi_awready_i,
  output logic        m_axi_wvalid_o,
  input  logic        m_axi_wready_i,
  input  logic [1:0]  m_axi_bresp_i,
  input  logic        m_axi_bvalid_i
);
  localparam int unsigned CountBits = $clog2(MaxOutstanding + 1);
  localparam logic [1:0] DecodeError = 2'b11;

  typedef enum logic [1:0] {Pass, Swallow, Answer} state_e;
  state_e state_q, state_d;
  logic [CountBits-1:0] count_q;  // bursts forwarded and not answered

  wire in_window = s_axi_awpage_i >= 52'(base_i) && s_axi_awpage_i < 52'(limit_i);
  wire refuse = (state_q == Pass) & s_axi_awvalid_i & ~in_window & (count_q == '0);
  wire gone = m_axi_awvalid_o & m_axi_awready_i;
  wire answered = m_axi_bvalid_i & s_axi_bready_i;

  assign m_axi_awvalid_o = (state_q == Pass) & s_axi_awvalid_i & in_window;
  assign s_axi_awready_o = gone | refuse;
  // The slave accepts only beats of bursts whose address it has accepted.
  assign m_axi_wvalid_o  = (state_q == Pass) & s_axi_wvalid_i;
  assign s_axi_wready_o  = (state_q == Pass) ? m_axi_wready_i : state_q == Swallow;
  assign s_axi_bvalid_o  = (state_q == Answer) | m_axi_bvalid_i;
  assign s_axi_bresp_o   = (state_q == Answer) ? DecodeError : m_axi_bresp_i;

  always_comb begin
    state_d = state_q;
    case (state_q)
      Pass:    if (refuse) state_d = Swallow;
      Swallow: if (s_axi_wvalid_i && s_axi_wlast_i) state_d = Answer;
      default: if (s_axi_bready_i) state_d = Pass;
    endcase
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      state_q <= Pass;
      count_q <= '0;
    end else begin
      state_q <= state_d;
      count_q <= count_q + CountBits'(gone) - CountBits'(answered);
    end
  end

  `ASSERT(a_apart, state_q != Pass |-> !m_axi_bvalid_i)
  `ASSERT(a_count, answered |-> count_q != '0)
  `COVER(c_refused, refuse)
endmodule
