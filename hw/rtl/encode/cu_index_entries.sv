// Encodes index blocks as chunks of up to 8 bytes: for each data block an entry `0, key bytes,
// value bytes, key, offset, size` (offset and size as varints), then the restart array, with one
// restart per entry, and its length; a token after each table and another at the end of the task.
//
//   state     chunk                                   next
//   StNext    entry header                            StKey
//             none, if a table ends                   StClose
//             task end token                          StDone
//   StKey     8 bytes of the user key                 StKey, StTrailer
//   StTrailer the trailer                             StHandle
//   StHandle  offset, and size if both fit            StNext, StSize
//   StSize    size                                    StNext
//   StClose   restart array                           StClose, StToken
//   StToken   table end token                         StNext

`include "cu_assert.svh"
`include "cu_streams.svh"

module cu_index_entries #(
  parameter int unsigned ValueBytes = 16,   // of the key beats
  parameter int unsigned MaxBlocks = 8192,  // of a table
  parameter int unsigned AlignBytes = 64,   // of the tables in the data area
  localparam type chunk_t = `CU_CHUNK_T(8)
) (
  input  logic                    clk_i,
  input  logic                    rst_ni,  // synchronous

  // What is next: a block's last key (its beats come apart), a table's end, or the task's.
  input  logic                    item_valid_i,
  output logic                    item_ready_o,
  input  logic                    item_table_i,
  input  logic                    item_task_end_i,
  input  logic [15:0]             item_user_bytes_i,
  input  logic [63:0]             item_trailer_i,

  input  logic                    key_valid_i,
  output logic                    key_ready_o,
  input  logic [ValueBytes*8-1:0] key_data_i,

  input  logic                    handle_valid_i,
  output logic                    handle_ready_o,
  input  logic [47:0]             handle_offset_i,
  input  logic [31:0]             handle_size_i,
  input  logic [3:0]              handle_code_bytes_i,  // of both as varints

  output logic                    out_valid_o,
  input  logic                    out_ready_i,
  output chunk_t                  out_o,

  // With a table's token: where its data blocks stand in the data area. Taken at once.
  output logic                    table_valid_o,
  input  logic                    table_ready_i,
  output logic [47:0]             table_offset_o,
  output logic [47:0]             table_bytes_o,

  output logic                    limit_o  // more blocks than there is room for; nothing follows
);
  import cu_varint_pkg::*;

  localparam int unsigned V = ValueBytes;
  localparam int unsigned Words = V / 8;
  localparam int unsigned WordBits = (Words > 1) ? $clog2(Words) : 1;
  localparam int unsigned SealBytes = 5;

  typedef enum logic [3:0] {
    StNext, StKey, StTrailer, StHandle, StSize, StClose, StToken, StDone, StLimit
  } state_e;

  state_e state_q, state_d;
  chunk_t chunk;
  logic emit, room, start_entry;

  logic [15:0] key_left_q;
  logic [WordBits-1:0] word_q;
  logic [31:0] content_q;
  logic [47:0] data_offset_q, data_bytes_q;
  varint_t offset_code_q, size_code_q;
  logic [3:0] value_bytes_q;
  wire handle_fits = value_bytes_q <= 4'd8;

  wire [15:0] key_bytes = item_user_bytes_i + 16'd8;
  varint_t key_code;
  assign key_code = varint(56'(key_bytes));
  wire [3:0] header_bytes = key_code.bytes + 4'd2;

  // An entry's size is accounted for in the cycle after its header: the next one needs more cycles.
  logic account_q;
  logic [3:0] header_bytes_q;
  wire [4:0] other_bytes = 5'(header_bytes_q) + 5'(value_bytes_q) + 5'd8;  // than the user key's

  wire word_last = key_left_q <= 16'd8;
  logic [63:0] key_word;
  if (Words > 1) begin : g_select
    cu_choice #(.Width(64), .Words(Words)) u_key_word (
      .words_i(key_data_i), .pick_i(word_q), .word_o(key_word)
    );
  end else begin : g_all
    assign key_word = key_data_i;
  end

  logic restarts_full, array_last;
  logic [$clog2(MaxBlocks + 1)-1:0] unused_count;
  logic [7:0] unused_checksum;  // the host checks all of an index
  logic [63:0] array_data;
  logic [3:0] array_bytes;
  cu_restart_array #(.Bytes(8), .MaxRestarts(MaxBlocks)) u_restarts (
    .clk_i, .rst_ni,
    .push_i(start_entry), .push_offset_i(content_q), .full_o(restarts_full),
    .count_o(unused_count),
    .next_i(emit && state_q == StClose),
    .data_o(array_data), .bytes_o(array_bytes), .last_o(array_last),
    .checksum_o(unused_checksum)
  );

  always_comb begin
    state_d        = state_q;
    emit           = 1'b0;
    chunk          = '0;
    start_entry    = 1'b0;
    item_ready_o   = 1'b0;
    key_ready_o    = 1'b0;
    handle_ready_o = 1'b0;
    table_valid_o  = 1'b0;
    unique case (state_q)
      StNext: begin
        if (item_valid_i && room) begin
          if (item_task_end_i) begin
            emit         = 1'b1;
            item_ready_o = 1'b1;
            chunk.last   = 1'b1;
            chunk.token  = 2'd2;
            state_d      = StDone;
          end else if (item_table_i) begin
            state_d = StClose;
          end else if (restarts_full) begin
            state_d = StLimit;
          end else if (handle_valid_i) begin
            start_entry    = 1'b1;
            handle_ready_o = 1'b1;
            emit           = 1'b1;
            chunk.bytes    = header_bytes;
            chunk.data     = (key_code.data << 8)
                             | (64'(handle_code_bytes_i) << {header_bytes[2:0] - 3'd1, 3'b0});
            state_d        = StKey;
          end
        end
      end
      StKey: begin
        if (key_valid_i && room) begin
          emit        = key_left_q != '0;
          chunk.data  = key_word;
          chunk.bytes = word_last ? key_left_q[3:0] : 4'd8;
          key_ready_o = word_last || word_q == WordBits'(Words - 1);
          if (word_last) state_d = StTrailer;
        end
      end
      StTrailer: begin
        if (room) begin
          emit         = 1'b1;
          chunk.data   = item_trailer_i;
          chunk.bytes  = 4'd8;
          item_ready_o = 1'b1;
          state_d      = StHandle;
        end
      end
      StHandle: begin
        if (room) begin
          emit        = 1'b1;
          chunk.data  = offset_code_q.data;
          chunk.bytes = offset_code_q.bytes;
          state_d     = StSize;
          if (handle_fits) begin
            chunk.data  = offset_code_q.data
                          | (size_code_q.data << {offset_code_q.bytes[2:0], 3'b0});
            chunk.bytes = value_bytes_q;
            state_d     = StNext;
          end
        end
      end
      StSize: begin
        if (room) begin
          emit        = 1'b1;
          chunk.data  = size_code_q.data;
          chunk.bytes = size_code_q.bytes;
          state_d     = StNext;
        end
      end
      StClose: begin
        if (room) begin
          emit        = 1'b1;
          chunk.data  = array_data;
          chunk.bytes = array_bytes;
          chunk.last  = array_last;
          if (array_last) state_d = StToken;
        end
      end
      StToken: begin
        if (room && table_ready_i) begin
          table_valid_o = 1'b1;
          item_ready_o  = 1'b1;
          emit          = 1'b1;
          chunk.last    = 1'b1;
          chunk.token   = 2'd1;
          state_d       = StNext;
        end
      end
      StDone, StLimit: ;
    endcase
  end

  assign table_offset_o = data_offset_q;
  assign table_bytes_o  = data_bytes_q;
  wire [47:0] table_end = data_offset_q + data_bytes_q + 48'(AlignBytes - 1);

  always_ff @(posedge clk_i) begin
    if (start_entry) begin
      key_left_q     <= item_user_bytes_i;
      word_q         <= '0;
      header_bytes_q <= header_bytes;
      value_bytes_q  <= handle_code_bytes_i;
      offset_code_q  <= varint(56'(handle_offset_i));
      size_code_q    <= varint(56'(handle_size_i));
    end else if (state_q == StKey && key_valid_i && room) begin
      key_left_q <= key_left_q - 16'd8;
      word_q     <= key_ready_o ? '0 : word_q + 1'b1;
    end
    if (!rst_ni) begin
      state_q       <= StNext;
      account_q     <= 1'b0;
      content_q     <= '0;
      data_offset_q <= '0;
      data_bytes_q  <= '0;
    end else begin
      state_q   <= state_d;
      account_q <= start_entry;
      if (start_entry) data_bytes_q <= data_bytes_q + 48'(handle_size_i) + 48'(SealBytes);
      if (account_q) begin
        content_q <= content_q + 32'(key_left_q) + 32'(other_bytes);
      end
      if (table_valid_o) begin
        content_q     <= '0;
        data_bytes_q  <= '0;
        data_offset_q <= table_end & ~48'(AlignBytes - 1);
      end
    end
  end

  // Room does not depend on a simultaneous read.
  cu_register_slice #(.Width($bits(chunk_t))) u_out (
    .clk_i, .rst_ni, .wvalid_i(emit), .wready_o(room), .wdata_i(chunk),
    .rvalid_o(out_valid_o), .rready_i(out_ready_i), .rdata_o(out_o)
  );

  assign limit_o = state_q == StLimit;

  `ASSERT(a_code_bytes,
      account_q |-> value_bytes_q == offset_code_q.bytes + size_code_q.bytes)
endmodule
