// The card's AXI4-Lite slave: forwards each access to the unit whose window it falls into, holds
// the registers shared by all units, and resets units individually (abi/sluice.rdl, "card").
//
// | a unit's state | action                                                   | leaves when       |
// |----------------|----------------------------------------------------------|-------------------|
// | Run            |                                                          | RESET is written  |
// | Drain          | isolate its ports, start no access to its registers      | nothing is due    |
// | Hold           | hold it in reset, and let it come out of that            | after 8 cycles, 4 |
//
// One read and one write at a time. An access to a unit that is being reset is SLVERR at once: if it
// waited, nobody could use the registers of the others while the unit's memory keeps it waiting. One to
// a window without a unit reads as 0 and ignores writes.

`include "cu_assert.svh"

module cu_card_control #(
  parameter int unsigned Units = 2
) (
  input  logic        clk_i,
  input  logic        rst_ni,

  input  logic [15:0] s_axi_awaddr_i,
  input  logic        s_axi_awvalid_i,
  output logic        s_axi_awready_o,
  input  logic [31:0] s_axi_wdata_i,
  input  logic [3:0]  s_axi_wstrb_i,
  input  logic        s_axi_wvalid_i,
  output logic        s_axi_wready_o,
  output logic [1:0]  s_axi_bresp_o,
  output logic        s_axi_bvalid_o,
  input  logic        s_axi_bready_i,
  input  logic [15:0] s_axi_araddr_i,
  input  logic        s_axi_arvalid_i,
  output logic        s_axi_arready_o,
  output logic [31:0] s_axi_rdata_o,
  output logic [1:0]  s_axi_rresp_o,
  output logic        s_axi_rvalid_o,
  input  logic        s_axi_rready_i,

  // To the units: addresses and data as above, handshakes for each. A unit takes address and data
  // of a write together.
  output logic [Units-1:0]       write_valid_o,
  input  logic [Units-1:0]       write_ready_i,
  input  logic [Units-1:0][1:0]  bresp_i,
  input  logic [Units-1:0]       bvalid_i,
  output logic [Units-1:0]       bready_o,
  output logic [Units-1:0]       arvalid_o,
  input  logic [Units-1:0]       arready_i,
  input  logic [Units-1:0][31:0] rdata_i,
  input  logic [Units-1:0][1:0]  rresp_i,
  input  logic [Units-1:0]       rvalid_i,
  output logic [Units-1:0]       rready_o,

  output logic [Units-1:0]       unit_rst_no,
  output logic [Units-1:0]       isolate_o,
  input  logic [Units-1:0]       idle_i,      // nothing of the unit is on the bus
  input  logic [Units-1:0][3:0]  beats_i,     // its ports on which a beat moves in this cycle
  output logic [Units-1:0][31:0] window_base_o,
  output logic [Units-1:0][31:0] window_limit_o
);
  import sluice_abi_pkg::*;

  localparam int unsigned WindowBits = $clog2(CardUnitStride);
  localparam int unsigned HoldCycles = 8;
  localparam int unsigned OutCycles = 4;
  localparam int unsigned HoldBits = $clog2(HoldCycles + OutCycles + 1);

  `ASSERT_PARAM(units, Units >= 1 && Units <= CardUnitCount, "Units must be 1 to 8")

  // The unit of a window, one-hot; 0 if there is none.
  function automatic logic [Units-1:0] unit_of(logic [15:WindowBits] window);
    for (int u = 0; u < int'(Units); u++) unit_of[u] = window == (16-WindowBits)'(u);
  endfunction

  typedef enum logic [1:0] {Run, Drain, Hold} state_e;
  state_e [Units-1:0] state_q;
  logic [Units-1:0] running, reset_set, accessed;
  for (genvar u = 0; u < Units; u++) begin : g_running
    assign running[u] = state_q[u] == Run;
  end

  // ------------------------------------------------------------------ writes
  logic write_busy_q;                // taken, not yet answered
  logic [Units-1:0] write_unit_q;    // by whom; 0: here
  logic write_refused_q;
  wire [Units-1:0] write_unit = unit_of(s_axi_awaddr_i[15:WindowBits]);
  wire write_ask = s_axi_awvalid_i & s_axi_wvalid_i & ~write_busy_q;
  wire write_here = write_ask & (write_unit == '0);
  wire write_refused = |(write_unit & ~running);
  wire write_taken = write_here | (write_ask & write_refused) | |(write_valid_o & write_ready_i);

  assign write_valid_o   = write_ask ? write_unit & running : '0;
  assign s_axi_awready_o = write_taken;
  assign s_axi_wready_o  = write_taken;
  assign s_axi_bvalid_o  = write_busy_q & ((write_unit_q == '0) | |(write_unit_q & bvalid_i));
  assign bready_o        = (write_busy_q & s_axi_bready_i) ? write_unit_q : '0;
  always_comb begin
    s_axi_bresp_o = {write_refused_q, 1'b0};
    for (int u = 0; u < int'(Units); u++) if (write_unit_q[u]) s_axi_bresp_o |= bresp_i[u];
  end

  wire write_reset = write_here & ({s_axi_awaddr_i[15:2], 2'b00} == 16'(CardReset)) &
                     s_axi_wstrb_i[0];
  assign reset_set = write_reset ? s_axi_wdata_i[Units-1:0] : '0;

  logic [Units-1:0][31:0] window_base_q, window_limit_q;
  assign window_base_o  = window_base_q;
  assign window_limit_o = window_limit_q;
  always_ff @(posedge clk_i) begin
    for (int u = 0; u < int'(Units); u++) begin
      for (int b = 0; b < 4; b++) begin
        if (write_here && s_axi_wstrb_i[b]) begin
          if (s_axi_awaddr_i[15:2] == 14'(CardWindowBase / 4 + u)) begin
            window_base_q[u][8*b+:8] <= s_axi_wdata_i[8*b+:8];
          end
          if (s_axi_awaddr_i[15:2] == 14'(CardWindowLimit / 4 + u)) begin
            window_limit_q[u][8*b+:8] <= s_axi_wdata_i[8*b+:8];
          end
        end
      end
    end
    if (!rst_ni) begin
      window_base_q  <= '0;
      window_limit_q <= '1;
    end
  end

  // ------------------------------------------------------------------ reads
  logic read_busy_q;
  logic [Units-1:0] read_unit_q;
  logic read_refused_q;
  logic [31:0] rdata_q, rdata_d;
  logic [Units-1:0][31:0] beats_q;
  logic [Units-1:0][3:0] moved_q;  // beats_i a cycle ago
  wire [Units-1:0] read_unit = unit_of(s_axi_araddr_i[15:WindowBits]);
  wire read_ask = s_axi_arvalid_i & ~read_busy_q;
  wire read_refused = |(read_unit & ~running);
  wire read_taken = read_ask & ((read_unit == '0) | read_refused | |(arvalid_o & arready_i));

  assign arvalid_o       = read_ask ? read_unit & running : '0;
  assign s_axi_arready_o = read_taken;
  assign s_axi_rvalid_o  = read_busy_q & ((read_unit_q == '0) | |(read_unit_q & rvalid_i));
  assign rready_o        = (read_busy_q & s_axi_rready_i) ? read_unit_q : '0;
  always_comb begin
    s_axi_rdata_o = (read_unit_q == '0) ? rdata_q : '0;
    s_axi_rresp_o = {read_refused_q, 1'b0};
    for (int u = 0; u < int'(Units); u++) begin
      if (read_unit_q[u]) begin
        s_axi_rdata_o |= rdata_i[u];
        s_axi_rresp_o |= rresp_i[u];
      end
    end
    rdata_d = '0;
    if (s_axi_araddr_i[15:2] == 14'(CardUnits / 4)) rdata_d = Units;
    if (s_axi_araddr_i[15:2] == 14'(CardReset / 4)) rdata_d = 32'(isolate_o);
    for (int u = 0; u < int'(Units); u++) begin
      if (s_axi_araddr_i[15:2] == 14'(CardBeats / 4 + u)) rdata_d = beats_q[u];
      if (s_axi_araddr_i[15:2] == 14'(CardWindowBase / 4 + u)) rdata_d = window_base_q[u];
      if (s_axi_araddr_i[15:2] == 14'(CardWindowLimit / 4 + u)) rdata_d = window_limit_q[u];
    end
  end

  always_ff @(posedge clk_i) begin
    if (write_taken) begin
      write_unit_q    <= write_unit & running;
      write_refused_q <= write_refused;
    end
    if (read_taken) begin
      read_unit_q    <= read_unit & running;
      read_refused_q <= read_refused;
      rdata_q        <= rdata_d;
    end
    if (!rst_ni) begin
      write_busy_q <= 1'b0;
      read_busy_q  <= 1'b0;
    end else begin
      if (write_taken) write_busy_q <= 1'b1;
      else if (s_axi_bvalid_o && s_axi_bready_i) write_busy_q <= 1'b0;
      if (read_taken) read_busy_q <= 1'b1;
      else if (s_axi_rvalid_o && s_axi_rready_i) read_busy_q <= 1'b0;
    end
  end

  // ------------------------------------------------------------------ resets
  assign accessed  = (write_busy_q ? write_unit_q : '0) | (read_busy_q ? read_unit_q : '0);
  assign isolate_o = ~running;

  for (genvar u = 0; u < Units; u++) begin : g_unit
    logic [HoldBits-1:0] held_q;
    logic rst_nq;
    wire [2:0] moved = 3'(moved_q[u][0]) + 3'(moved_q[u][1]) + 3'(moved_q[u][2]) +
                       3'(moved_q[u][3]);
    assign unit_rst_no[u] = rst_nq & rst_ni;
    always_ff @(posedge clk_i) begin
      rst_nq <= state_q[u] != Hold || held_q >= HoldBits'(HoldCycles);
      held_q <= (state_q[u] == Hold) ? held_q + 1'b1 : '0;
      moved_q[u] <= beats_i[u];
      if (!rst_ni) begin
        state_q[u] <= Run;
        beats_q[u] <= '0;
      end else begin
        beats_q[u] <= beats_q[u] + 32'(moved);
        unique case (state_q[u])
          Run: if (reset_set[u]) state_q[u] <= Drain;
          Drain: if (idle_i[u] && !accessed[u]) state_q[u] <= Hold;
          Hold: if (held_q == HoldBits'(HoldCycles + OutCycles)) state_q[u] <= Run;
          default: state_q[u] <= Run;
        endcase
      end
    end
  end

  logic unused;
  assign unused = ^{s_axi_awaddr_i[1:0], s_axi_araddr_i[1:0]};

  `ASSERT(a_bstable, s_axi_bvalid_o && !s_axi_bready_i |=> s_axi_bvalid_o)
  `ASSERT(a_rstable, s_axi_rvalid_o && !s_axi_rready_i |=> s_axi_rvalid_o && $stable(s_axi_rdata_o))
endmodule
