// The laws of rowwise_law.cc, on a GPU.
#include "properties/fused/rowwise_law.cc"
