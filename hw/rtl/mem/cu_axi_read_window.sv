// Restricts an AXI4 read master to a window of pages: a burst outside it is not forwarded, and is
// answered with DECERR once all earlier bursts have been answered. Bursts must not cross a page, as
// AXI4 demands. Adds no latency to forwarded bursts.

`include "cu_assert.svh"

module cu_axi_read_window #(
  parameter int unsigned MaxOutstanding = 64  // bursts that the master may have outstanding
) (
  input  logic        clk_i,
  input  logic        rst_ni,  // synchronous; with the master's

  input  logic [31:0] base_i,   // first page of 4 KiB
  input  logic [31:0] limit_i,  // after the last

  // The master; data bypasses this module.
  input  logic [51:0] s_axi_arpage_i,  // the address, in pages
  input  logic [7:0]  s_axi_arlen_i,
  input  logic        s_axi_arvalid_i,
  output logic        s_axi_arready_o,
  output logic [1:0]  s_axi_rresp_o,
  output logic        s_axi_rlast_o,
  output logic        s_axi_rvalid_o,
  input  logic        s_axi_rready_i,

  output logic        m_axi_arvalid_o,
  input  logic        m_axi_arready_i,
  input  logic [1:0]  m_axi_rresp_i,
  input  logic        m_axi_rlast_i,
  input  logic        m_axi_rvalid_i
);
  localparam int unsigned CountBits = $clog2(MaxOutstanding + 1);
  localparam logic [1:0] DecodeError = 2'b11;

  logic [CountBits-1:0] count_q;  // bursts forwarded and not answered
  logic refuse_q;                 // a refused burst is being answered
  logic [7:0] left_q;             // beats after this one

  wire in_window = s_axi_arpage_i >= 52'(base_i) && s_axi_arpage_i < 52'(limit_i);
  wire refuse = s_axi_arvalid_i & ~in_window & ~refuse_q & (count_q == '0);
  wire gone = m_axi_arvalid_o & m_axi_arready_i;
  wire answered = m_axi_rvalid_i & s_axi_rready_i & m_axi_rlast_i;

  assign m_axi_arvalid_o = s_axi_arvalid_i & in_window & ~refuse_q;
  assign s_axi_arready_o = gone | refuse;
  assign s_axi_rvalid_o  = refuse_q | m_axi_rvalid_i;
  assign s_axi_rresp_o   = refuse_q ? DecodeError : m_axi_rresp_i;
  assign s_axi_rlast_o   = refuse_q ? left_q == '0 : m_axi_rlast_i;

  always_ff @(posedge clk_i) begin
    if (refuse) left_q <= s_axi_arlen_i;
    else if (s_axi_rready_i) left_q <= left_q - 1'b1;
    if (!rst_ni) begin
      count_q  <= '0;
      refuse_q <= 1'b0;
    end else begin
      count_q <= count_q + CountBits'(gone) - CountBits'(answered);
      if (refuse) refuse_q <= 1'b1;
      else if (s_axi_rready_i && left_q == '0) refuse_q <= 1'b0;
    end
  end

  `ASSERT(a_apart, refuse_q |-> !m_axi_rvalid_i)
  `ASSERT(a_count, answered |-> count_q != '0)
  `COVER(c_refused, refuse)
endmodule
