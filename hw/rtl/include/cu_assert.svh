// Assertions, cover points and checks of parameters: one way of writing each.
//
//   `ASSERT(a_name, property)                     holds in every cycle out of reset
//   `COVER(c_name, property)                      is to be hit, see `make coverage`
//   `ASSERT_PARAM(name, condition, "message")     or else the module does not elaborate
//
// The first two take clk_i and !rst_ni from the module; a third and a fourth argument name another
// clock and another reset. Synthesis and proofs, which define SYNTHESIS, see neither; what only an
// assertion needs stands between `ifndef SYNTHESIS and `endif. Every tool sees checks of
// parameters.

`ifndef CU_ASSERT_SVH
`define CU_ASSERT_SVH

`ifdef SYNTHESIS
`define ASSERT(Name, Property, Clock = clk_i, Reset = !rst_ni)
`define COVER(Name, Property, Clock = clk_i, Reset = !rst_ni)
`else
`define ASSERT(Name, Property, Clock = clk_i, Reset = !rst_ni) \
  Name : assert property (@(posedge Clock) disable iff (Reset) (Property));
`define COVER(Name, Property, Clock = clk_i, Reset = !rst_ni) \
  Name : cover property (@(posedge Clock) disable iff (Reset) (Property));
`endif

`define ASSERT_PARAM(Name, Condition, Message) \
  if (!(Condition)) begin : g_check_``Name \
    $fatal(1, Message); \
  end

`endif
