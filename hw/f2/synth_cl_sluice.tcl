# Synthesis of cl_sluice, for the HDK's build_all.tcl, which sources this and has set the variables
# that are not set here. prepare.py puts it where it belongs. Never run: no HDK was at hand.

source ${HDK_SHELL_DIR}/build/scripts/synth_cl_header.tcl

source ${scripts_dir}/parameters.tcl
read_verilog -sv [glob ${src_post_enc_dir}/*.sv]

# The DDR4 controller: all IP that is needed.
read_ip ${HDK_IP_SRC_DIR}/cl_ddr4/cl_ddr4.xci

read_xdc [list ${constraints_dir}/cl_synth_user.xdc ${constraints_dir}/cl_timing_user.xdc]
set_property PROCESSING_ORDER LATE [get_files cl_synth_user.xdc]
set_property PROCESSING_ORDER LATE [get_files cl_timing_user.xdc]

set generics {}
foreach parameter $parameters {
  lappend generics -generic $parameter
}
update_compile_order -fileset sources_1
# Assertions are left out by SYNTHESIS (hw/rtl/include/cu_assert.svh), which Vivado defines.
synth_design -mode out_of_context -top ${CL} -part ${DEVICE_TYPE} -keep_equivalent_registers \
  -verilog_define XSDB_SLV_DIS -verilog_define USE_64GB_DDR_DIMM \
  -include_dirs [list ${src_post_enc_dir} ${HDK_SHELL_DESIGN_DIR}/interfaces] {*}$generics

source ${HDK_SHELL_DIR}/build/scripts/synth_cl_footer.tcl
