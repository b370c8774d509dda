// What of NCCL needs no GPU: its types, and the message where there is none.
#include <cuda_runtime.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "impl/comm/nccl/nccl_communicator.h"
#include "impl/comm/nccl/types.h"

namespace shardproof {
namespace {

constexpr Element elements[] = {Element::f64, Element::f32, Element::bf16, Element::i32,
                                Element::u32, Element::u8,  Element::u64};

/// NCCL's types are numbered; their sizes and what they are, from its documentation.
TEST(NcclTypes, AreOfTheSameSizeAndKind) {
  const std::map<ncclDataType_t, std::string> kinds = {
      {ncclInt8, "i1"},    {ncclUint8, "u1"},   {ncclInt32, "i4"},   {ncclUint32, "u4"},
      {ncclInt64, "i8"},   {ncclUint64, "u8"},  {ncclFloat16, "h2"}, {ncclFloat32, "f4"},
      {ncclFloat64, "f8"}, {ncclBfloat16, "b2"}};
  for (Element element : elements) {
    const std::string name = name_of(element), kind = kinds.at(nccl_type(element));
    EXPECT_EQ(kind, name[0] + std::to_string(size_of(element))) << name;
  }
  EXPECT_EQ(nccl_op(Reduction::sum), ncclSum);
  EXPECT_EQ(nccl_op(Reduction::max), ncclMax);
  EXPECT_EQ(nccl_op(Reduction::min), ncclMin);
}

TEST(NcclTypes, LeaveToUsWhatNcclDoesOtherwise) {
  const auto by_us = [](Element element, Reduction reduction, bool deterministic) {
    return joined_by_us({Collective::all_reduce, element, reduction, 1}, deterministic);
  };
  EXPECT_FALSE(by_us(Element::f32, Reduction::sum, false));
  EXPECT_TRUE(by_us(Element::bf16, Reduction::sum, true));
  EXPECT_TRUE(by_us(Element::f64, Reduction::max, false));
  EXPECT_FALSE(by_us(Element::i32, Reduction::min, true));
}

TEST(NcclCommunicator, SaysThatThereIsNoGpu) {
  int gpus = 0;
  if (cudaGetDeviceCount(&gpus) == cudaSuccess && gpus > 0)
    GTEST_SKIP() << "there is a CUDA device";
  const std::shared_ptr<Device> cpu = cpu_device();
  const std::unique_ptr<Store> store = local_store();
  try {
    nccl_communicator(*store, 0, 1, {*cpu, 0, [](Queue&) { return nullptr; }});
    FAIL() << "no fault";
  } catch (const CommError& error) {
    EXPECT_THAT(error.what(), testing::StartsWith("rank 0: no CUDA device 0: "));
  }
}

}  // namespace
}  // namespace shardproof
