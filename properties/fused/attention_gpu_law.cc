// The laws of attention_law.cc, on a GPU.
#include "properties/fused/attention_law.cc"
