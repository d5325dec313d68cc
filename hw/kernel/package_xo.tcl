# Packages a kernel as an .xo file, for v++. Never run: no Vivado was at hand.
#
# usage: vivado -mode batch -source package_xo.tcl -tclargs KERNEL DIR PART
#
# DIR is what describe.py has written; KERNEL.xo goes there, too. All sources are copied into DIR/src
# first, so that `include finds its files wherever the packager puts them.

if {$argc != 3} {
  puts stderr "usage: package_xo.tcl KERNEL DIR PART"
  exit 2
}
lassign $argv kernel dir part
set dir [file normalize $dir]
set hw [file dirname [file dirname [file normalize [info script]]]]

# Files whose names match, in a directory and all below it.
proc find {dir pattern} {
  set found [glob -nocomplain -directory $dir -types f $pattern]
  foreach below [glob -nocomplain -directory $dir -types d *] {
    lappend found {*}[find $below $pattern]
  }
  return $found
}

file delete -force $dir/src $dir/ip $dir/project $dir/$kernel.xo
file mkdir $dir/src
file copy {*}[find $hw/rtl *.sv] {*}[find $hw/rtl *.svh] $hw/kernel/rtl/sluice_kernel.sv \
          $dir/sluice_abi_pkg.sv $dir/$kernel.v $dir/src

create_project -force $kernel $dir/project -part $part
add_files -norecurse [find $dir/src *]
set_property top $kernel [current_fileset]
update_compile_order -fileset sources_1

ipx::package_project -root_dir $dir/ip -vendor sluice -library kernel -taxonomy /KernelIP \
                     -import_files -set_current true
set core [ipx::current_core]
# As kernel.xml says.
set_property name $kernel $core
set_property version 1.0 $core

# The AXI interfaces are inferred from the names of ports; of the signals, not all are.
foreach {signal kind} {ap_clk clock ap_rst_n reset interrupt interrupt} {
  if {[ipx::get_bus_interfaces -quiet $signal -of_objects $core] eq ""} {
    ipx::infer_bus_interface $signal xilinx.com:signal:${kind}_rtl:1.0 $core
  }
}
foreach port {s_axi_control m_axi_index m_axi_in m_axi_out} {
  ipx::associate_bus_interfaces -busif $port -clock ap_clk $core
}
ipx::associate_bus_interfaces -clock ap_clk -reset ap_rst_n $core

set_property sdx_kernel true $core
set_property sdx_kernel_type rtl $core
set_property supported_families {} $core
set_property auto_family_support_level level_2 $core
ipx::create_xgui_files $core
ipx::update_checksums $core
ipx::check_integrity -kernel $core
ipx::save_core $core
close_project

package_xo -force -xo_path $dir/$kernel.xo -kernel_name $kernel -ip_directory $dir/ip \
           -kernel_xml $dir/kernel.xml
