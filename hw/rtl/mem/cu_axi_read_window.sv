// Keeps an AXI4 read master within a window of pages: a burst outside it never goes on, and is
// answered with DECERR once all bursts before it have been answered. Bursts must not cross a page, as
// AXI4 demands. Adds no cycle to what goes through.

module cu_axi_read_window #(
  parameter int unsigned Bursts = 64  // that the master may have outstanding
) (
  input  logic        clk_i,
  input  logic        rst_ni,  // synchronous; with the master's

  input  logic [31:0] base_i,   // first page of 4 KiB
  input  logic [31:0] limit_i,  // behind the last

  // The master; data goes past.
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
  localparam int unsigned CountBits = $clog2(Bursts + 1);
  localparam logic [1:0] DecodeError = 2'b11;

  logic [CountBits-1:0] count_q;  // bursts that went on and are not answered
  logic refuse_q;                 // one that did not is being answered
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

`ifndef SYNTHESIS
  a_apart : assert property (@(posedge clk_i) disable iff (!rst_ni) refuse_q |-> !m_axi_rvalid_i);
  a_count : assert property (@(posedge clk_i) disable iff (!rst_ni) answered |-> count_q != '0);
  c_refused : cover property (@(posedge clk_i) refuse);
`endif
endmodule
