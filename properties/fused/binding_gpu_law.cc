// The laws of binding_law.cc, on a GPU.
#include "properties/fused/binding_law.cc"
