// The laws of grouped_law.cc, on a GPU.
#include "properties/fused/grouped_law.cc"
