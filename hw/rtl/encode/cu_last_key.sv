// Stores the user key of the record being written and sends it to the index encoder when its block
// ends.
//
// There are two banks: while one is sent, records go to the other, so that the index side may lag
// behind by one block without stalling the data side. A key is complete a cycle before its block
// ends, so that its first row has been read by then.

`include "cu_assert.svh"
`include "cu_streams.svh"

module cu_last_key #(
  parameter int unsigned ValueBytes = 16,
  parameter int unsigned MaxKeyBytes = 1024,
  localparam type last_key_t = `CU_LAST_KEY_T(ValueBytes)
) (
  input  logic                    clk_i,
  input  logic                    rst_ni,  // synchronous

  output logic                    ready_o,       // a record may start
  output logic                    busy_o,        // a key is being sent
  input  logic                    start_i,       // a record starts; only when ready
  input  logic [15:0]             user_bytes_i,  // with start_i, as is the next
  input  logic [63:0]             trailer_i,
  input  logic                    beat_i,        // one of its key beats
  input  logic [ValueBytes*8-1:0] data_i,
  input  logic                    close_i,       // it was the last of its block

  output logic                    last_key_valid_o,
  input  logic                    last_key_ready_i,
  output last_key_t               last_key_o
);
  localparam int unsigned V = ValueBytes;
  localparam int unsigned Rows = (MaxKeyBytes + V - 1) / V;
  localparam int unsigned RowBits = $clog2(Rows);

  `ASSERT_PARAM(max_key_bytes, Rows >= 2, "MaxKeyBytes must be more than ValueBytes")

  (* ram_style = "block" *) logic [V*8-1:0] mem[2 * 2 ** RowBits];
  logic [V*8-1:0] row_q;  // that of rbank_q and rrow_q
  logic [1:0][15:0] user_bytes_q;
  logic [1:0][63:0] trailer_q;
  logic [1:0][RowBits-1:0] last_row_q;
  logic [1:0] full_q;  // to be sent
  logic wbank_q, rbank_q, rbank_d;
  logic [RowBits-1:0] wrow_q, rrow_q, rrow_d;

  assign ready_o = !full_q[wbank_q];
  assign busy_o  = |full_q;

  assign last_key_valid_o = full_q[rbank_q];
  assign last_key_o       = '{
    data: row_q, last: rrow_q == last_row_q[rbank_q],
    user_bytes: user_bytes_q[rbank_q], trailer: trailer_q[rbank_q]
  };

  always_comb begin
    rbank_d = rbank_q;
    rrow_d  = rrow_q;
    if (last_key_valid_o && last_key_ready_i) begin
      rrow_d = rrow_q + 1'b1;
      if (last_key_o.last) begin
        rrow_d  = '0;
        rbank_d = !rbank_q;
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (beat_i) mem[{wbank_q, wrow_q}] <= data_i;
    row_q <= mem[{rbank_d, rrow_d}];
    if (start_i) begin
      user_bytes_q[wbank_q] <= user_bytes_i;
      trailer_q[wbank_q]    <= trailer_i;
      last_row_q[wbank_q]   <= (user_bytes_i == '0) ? '0
                                                    : RowBits'((user_bytes_i - 16'd1) / 16'(V));
      wrow_q                <= '0;
    end else if (beat_i) begin
      wrow_q <= wrow_q + 1'b1;
    end
    if (!rst_ni) begin
      full_q  <= '0;
      wbank_q <= 1'b0;
      rbank_q <= 1'b0;
      rrow_q  <= '0;
    end else begin
      if (close_i) begin
        full_q[wbank_q] <= 1'b1;
        wbank_q         <= !wbank_q;
      end
      if (last_key_valid_o && last_key_ready_i && last_key_o.last) full_q[rbank_q] <= 1'b0;
      rbank_q <= rbank_d;
      rrow_q  <= rrow_d;
    end
  end

  `ASSERT(a_ready, start_i || beat_i || close_i |-> ready_o)
  `ASSERT(a_complete, close_i |-> !beat_i)
  `ASSERT(a_fits, start_i |-> 32'(user_bytes_i) <= MaxKeyBytes)
endmodule
