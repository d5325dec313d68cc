// The PCI IDs of the card's application function, device and vendor: Amazon's, and of its range for
// anybody. The HDK's scripts read them here, too.
`define CL_SH_ID0 32'hF0CE_1D0F
// Subsystem and its vendor; of no meaning, but 0 is not allowed.
`define CL_SH_ID1 32'h51CE_FEDC
