// The laws of product_law.cc, on a GPU.
#include "properties/fused/product_law.cc"
