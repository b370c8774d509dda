// The laws of rows_law.cc, on a GPU.
#include "properties/fused/rows_law.cc"
