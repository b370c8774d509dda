// Mappings work on every mesh, and errors name the tensor that does not fit.
#include "impl/interchange/interchange.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

#include "impl/checkpoint/safetensors.h"
#include "impl/checkpoint/test_state.h"
#include "kernels/bf16.h"

namespace shardproof::interchange {
namespace {

using checkpoint::TestFolder;
using checkpoint::TestState;
using checkpoint::TestTensors;
using testing::HasSubstr;
namespace fs = std::filesystem;

const char* const mapping_text = R"({
  "architecture": "Net", "model_type": "net",
  "sizes": [
    { "key": "layers", "dims": "N" },
    { "key": "wide", "dims": "M" },
    { "key": "all_heads", "dims": "K D" },
    { "key": "head", "dims": "D", "missing": { "key": "half_head", "times": 2, "dims": "D" } }
  ],
  "consts": { "eps": { "keys": ["epsilon", "norm.epsilon"], "missing": 0.5 } },
  "settings": { "act": ["relu", null] },
  "prefixes": ["net.", ""],
  "ignored": ["h.{N}.mask"],
  "tensors": [
    { "leaf": "layers.w", "name": "h.{N}.q", "pattern": "(K D) M -> M K D", "at": { "two": 0 } },
    { "leaf": "layers.w", "name": "h.{N}.k", "pattern": "D (M K) -> M K D", "at": { "two": 1 }, "scale": { "D": 1 } },
    { "leaf": "b", "name": "b", "pattern": "(K D) -> K D" }
  ]
})";

const DimSizes sizes = {{"N", 3}, {"M", 4}, {"K", 2}, {"D", 2}};

Split split(const std::vector<Name>& dim, const std::vector<Axis>& axes = {}) {
  return {{dim}, axes};
}

/// Layers over p, M over d, heads over t: as dims of their own and as a group.
TestTensors net(Dtype dtype = Dtype::f32, Element element = Element::f32) {
  const Type w{{{split({"N"}, {"p"}), split({"two"}), split({"M"}, {"d"}), split({"K"}, {"t"}),
                 split({"D"})},
                {}},
               dtype};
  const Type b{{{split({"K", "D"}, {"t"})}, {}}, dtype};
  return {{"layers.w", {w, element, {3, 2, 4, 2, 2}}}, {"b", {b, element, {4}}}};
}

/// Numbers that are exact in every float: the leaf and the index in the whole.
void number(TestState& state, const Mesh& mesh, int64_t rank) {
  for (const checkpoint::Leaf& leaf : state.leaves()) {
    const checkpoint::Box box = checkpoint::part_of(leaf.type, mesh, rank, leaf.tensor->extents);
    const checkpoint::Box whole{std::vector<int64_t>(box.first.size()),
                                checkpoint::whole_of(leaf.type, mesh, leaf.tensor->extents)};
    for_each_run(whole, box, [&](int64_t from, int64_t to, int64_t count) {
      for (int64_t i = 0; i < count; ++i)
        leaf.tensor->data<float>()[to + i] = static_cast<float>(from + i);
    });
  }
}

class Interchange : public testing::Test {
 protected:
  Interchange() { put("mapping.json", mapping_text); }

  void put(const fs::path& name, const std::string& text) {
    fs::create_directories((folder_.path() / name).parent_path());
    std::ofstream(folder_.path() / name, std::ios::binary) << text;
  }
  fs::path at(const std::string& name) const { return folder_.path() / name; }
  Mapping mapping() const { return Mapping::read(at("mapping.json")); }

  /// Writes the numbered model from a mesh.
  void write(const std::string& to, const Mesh& mesh, uint64_t most = largest_file) {
    run_on_threads(static_cast<int>(mesh.ranks()), [&](Communicator& communicator) {
      TestState state(net(), mesh, communicator.rank());
      number(state, mesh, communicator.rank());
      save(mapping(), at(to), communicator, mesh, {sizes, {{"eps", 0.25}}}, state.leaves(), most);
    });
  }
  /// What a mesh reads is the numbered model, or the message.
  std::string read(const std::string& from, const Mesh& mesh, const TestTensors& tensors = net()) {
    std::string said;
    run_on_threads(static_cast<int>(mesh.ranks()), [&](Communicator& communicator) {
      TestState state(tensors, mesh, communicator.rank()), wanted(net(), mesh, communicator.rank());
      number(wanted, mesh, communicator.rank());
      try {
        load(mapping(), at(from), communicator, mesh, sizes, state.leaves());
        for (size_t i = 0; i < state.leaves().size(); ++i)
          EXPECT_EQ(values(*state.leaves()[i].tensor), values(*wanted.leaves()[i].tensor));
      } catch (const FileError& error) {
        if (communicator.rank() == 0) said = error.what();
      }
    });
    return said;
  }
  static std::vector<float> values(const LocalTensor& tensor) {
    std::vector<float> result;
    for (int64_t i = 0; i < tensor.count(); ++i)
      result.push_back(tensor.element == Element::bf16 ? bf16_to_f32(tensor.data<uint16_t>()[i])
                                                       : tensor.data<float>()[i]);
    return result;
  }
  /// One tensor of a folder as bytes.
  std::string tensor(const std::string& folder, const std::string& name) const {
    const checkpoint::File file = checkpoint::File::open(at(folder) / "model.safetensors");
    const safetensors::Entry entry = safetensors::read_header(file).at(name);
    std::string bytes(entry.bytes, '\0');
    file.read(entry.begin, bytes.data(), bytes.size());
    return bytes;
  }

  const TestFolder folder_;
};

TEST_F(Interchange, EachEntryIsWhereThePatternSays) {
  write("out", Mesh());
  const std::string q = tensor("out", "net.h.2.q"), k = tensor("out", "net.h.1.k");
  const auto value = [](const std::string& bytes, int64_t i) {
    float number;
    std::memcpy(&number, bytes.data() + 4 * i, 4);
    return number;
  };
  const auto leaf = [](int n, int two, int m, int head, int d) {
    return static_cast<float>((((n * 2 + two) * 4 + m) * 2 + head) * 2 + d);
  };
  for (int m = 0; m < 4; ++m)
    for (int head = 0; head < 2; ++head)
      for (int d = 0; d < 2; ++d) {
        EXPECT_EQ(value(q, (head * 2 + d) * 4 + m), leaf(2, 0, m, head, d));
        EXPECT_EQ(value(k, d * 8 + m * 2 + head), leaf(1, 1, m, head, d) / 2);
      }
}

TEST_F(Interchange, IsTheSameFromAndOnEveryMesh) {
  int number = 0;
  for (const char* from : {"", "d=2,t=2", "p=3,d=4", "t=2,d=2,p=3"}) {
    const std::string folder = "out" + std::to_string(number++);
    write(folder, Mesh::parse(from), number % 2 ? largest_file : 64);
    for (const char* to : {"", "d=4", "p=3,t=2", "d=2,t=2"})
      EXPECT_EQ(read(folder, Mesh::parse(to)), "") << from << " to " << to;
  }
}

TEST_F(Interchange, HalvesAndBrainFloatsAreRead) {
  // 1, -2, 0.5, the smallest half, as F16.
  const std::string header = R"({"b":{"dtype":"F16","shape":[4],"data_offsets":[0,8]}})";
  const uint16_t halves[] = {0x3c00, 0xc000, 0x3800, 0x0001};
  std::string file(8, '\0');
  file[0] = static_cast<char>(header.size());
  file += header + std::string(reinterpret_cast<const char*>(halves), sizeof halves);
  put("half/model.safetensors", file);
  put("half/config.json", R"({"model_type":"net","layers":3,"wide":4,"all_heads":4,"head":2})");
  put("mapping.json",
      R"({"architecture":"Net","model_type":"net","sizes":[],"consts":{},"settings":{},
    "tensors":[{"leaf":"b","name":"b","pattern":"(K D) -> K D"}]})");
  for (const Element element : {Element::f32, Element::bf16}) {
    TestTensors only{{"b", net(Dtype::f32, element).at("b")}};
    run_on_threads(1, [&](Communicator& communicator) {
      TestState state(only, Mesh(), 0);
      load(mapping(), at("half"), communicator, Mesh(), sizes, state.leaves());
      EXPECT_EQ(values(*state.leaves()[0].tensor),
                (std::vector<float>{1, -2, 0.5, std::ldexp(1.f, -24)}));
    });
  }
}

TEST_F(Interchange, NumbersAreThoseOfTheConfig) {
  const auto numbers = [&](const std::string& text) {
    put("net/config.json", text);
    return mapping().numbers(at("net"));
  };
  Numbers found =
      numbers(R"({"architectures":["Net"],"layers":3,"wide":4,"all_heads":4,"half_head":1})");
  EXPECT_EQ(found.sizes, sizes);
  EXPECT_EQ(found.consts.at("eps"), 0.5);
  found = numbers(
      R"({"model_type":"net","layers":3,"wide":4,"all_heads":4,"head":2,"act":"relu","norm":{"epsilon":2}})");
  EXPECT_EQ(found.sizes, sizes);
  EXPECT_EQ(found.consts.at("eps"), 2);

  const auto said = [&](const std::string& text) -> std::string {
    try {
      numbers(text);
      return "";
    } catch (const FileError& error) {
      EXPECT_THAT(error.what(), HasSubstr(at("net/config.json").string()));
      return error.what();
    }
  };
  EXPECT_THAT(said(R"({"architectures":["Other"]})"), HasSubstr("its architecture is [\"Other\"]"));
  EXPECT_THAT(said(R"({"model_type":"net","act":"gelu"})"), HasSubstr("act is \"gelu\""));
  EXPECT_THAT(said(R"({"model_type":"net","layers":3,"wide":4})"),
              HasSubstr("all_heads is not a size: null"));
  EXPECT_THAT(said(R"({"model_type":"net","layers":3,"wide":4,"all_heads":5,"head":2})"),
              HasSubstr("all_heads=5 is not a multiple of D = 2"));
  EXPECT_THAT(said(R"({"model_type":"net","layers":"3"})"), HasSubstr("layers is not a size"));
  EXPECT_THAT(said("{"), HasSubstr("parse error"));
  EXPECT_THAT(said(R"({"model_type":"net","layers":3,"layers":4})"),
              HasSubstr("the key \"layers\" stands twice"));
  const std::string deep = std::string(400'000, '[') + std::string(400'000, ']');
  EXPECT_THAT(said(R"({"architectures":)" + deep + "}"), HasSubstr("nested 400001 deep"));
  EXPECT_THAT(
      said(
          R"({"model_type":"net","layers":3,"wide":4,"all_heads":4,"half_head":4611686018427387904})"),
      HasSubstr("half_head is too large"));
  EXPECT_THAT(said(R"({"model_type":"net","layers":18446744073709551615})"),
              HasSubstr("layers is not a size: 18446744073709551615"));
  EXPECT_THAT(said("[]"), HasSubstr("its architecture is null"));
  const std::string all = R"({"model_type":"net","layers":3,"wide":4,"all_heads":4,"head":2)";
  EXPECT_THAT(said(all + ",\n\"norm\":{\n\"epsilon\":2,\"kind\":\"mean\"}}"),
              HasSubstr("config.json:3: norm.kind is \"mean\", which the model does not have"));
  EXPECT_THAT(said(all + ",\n\"epsilon\":1,\n\"norm\":{\"epsilon\":2}}"),
              HasSubstr("config.json:3: norm.epsilon is 2, and epsilon is 1"));
  EXPECT_EQ(said(all + R"(,"epsilon":2,"norm":{"epsilon":2.0},"use_cache":true})"), "");
}

TEST_F(Interchange, WhatDoesNotFitIsNamed) {
  write("out", Mesh());
  const std::string config = checkpoint::read_text(at("out/config.json"));
  const std::string good = checkpoint::read_text(at("out/model.safetensors"));
  EXPECT_THAT(read("nowhere", Mesh()), HasSubstr("nowhere/model.safetensors: cannot be opened"));
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    text.replace(text.find(from), from.size(), to);
    put("bad/config.json", config);
    put("bad/model.safetensors", text);
    return read("bad", Mesh::parse("t=2"));
  };
  EXPECT_THAT(with("net.h.1.q", "net.h.1.x"), HasSubstr("there is no tensor h.1.q"));
  EXPECT_THAT(with("[4,4]", "[2,8]"), HasSubstr("tensor h.0.q has shape [2 8], the program wants"));
  EXPECT_THAT(with("F32", "I32"), HasSubstr("which is not a float"));
  EXPECT_THAT(with("net.h.1.q", "net.h.1.q2"), HasSubstr("is not a safetensors file"));
  put("bad/model.safetensors", good.substr(0, good.size() - 1));
  EXPECT_THAT(read("bad", Mesh()), HasSubstr("bad/model.safetensors: is not a safetensors file"));
  put("bad/model.safetensors.index.json", R"({"weight_map":{"net.b":"other.safetensors"}})");
  EXPECT_THAT(read("bad", Mesh()), HasSubstr("other.safetensors: cannot be opened"));
  put("bad/model.safetensors.index.json", R"({"weight_map":{"net.b":"../out/model.safetensors"}})");
  EXPECT_THAT(read("bad", Mesh()), HasSubstr("is not in its folder"));
  put("bad/model.safetensors.index.json", "[]");
  EXPECT_THAT(read("bad", Mesh()), HasSubstr("bad/model.safetensors.index.json"));
}

TEST_F(Interchange, AMappingThatIsNotTheModelsIsRefused) {
  write("out", Mesh());
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string text = mapping_text;
    text.replace(text.find(from), from.size(), to);
    put("mapping.json", text);
    return read("out", Mesh());
  };
  EXPECT_THAT(with("(K D) M -> M K D", "(K D) M -> K M D"), HasSubstr("in another order"));
  EXPECT_THAT(with("(K D) M -> M K D", "(K D) -> M K D"), HasSubstr("dim M is in no pattern"));
  EXPECT_THAT(with("(K D) M -> M K D", "(K X) M -> M K D"), HasSubstr("it has no dim X"));
  EXPECT_THAT(with("\"two\": 1", "\"two\": 0"),
              HasSubstr("h.{N}.q and h.{N}.k are the same part of"));
  EXPECT_THAT(with("\"two\": 1", "\"two\": 2"), HasSubstr("does not cover all of tensor layers.w"));
  EXPECT_THAT(with("\"leaf\": \"b\"", "\"leaf\": \"c\""),
              HasSubstr("a tensor c, which the model does not have"));
  EXPECT_THAT(with("(K D) M ->", "(K D M ->"), HasSubstr("mapping.json: brackets"));
  EXPECT_THAT(with("\"h.{N}.mask\"", "\"h.{N.mask\""), HasSubstr("mapping.json: braces"));
}

const char* const joined_text = R"({
  "architecture": "Net", "model_type": "net",
  "sizes": [
    { "key": "wide", "dims": "M" }, { "key": "layers", "dims": "Z + N" }, { "key": "dense", "dims": "Z" },
    { "key": "d", "dims": "D" }, { "key": "w", "dims": "W" }
  ],
  "consts": { "far": { "keys": ["rope.far"], "missing": 1, "unless": ["rope.factor"] } },
  "settings": {},
  "unread": { "rope.factor": "another file reads it" },
  "ignored": ["h.5.*"],
  "tensors": [
    { "leaf": "x", "name": "h.{Z+N}.xy", "pattern": "D+W M -> M D" },
    { "leaf": "y", "name": "h.{Z+N}.xy", "pattern": "D+W M -> M W", "pairs": "W" }
  ]
})";

/// M over d; of layers 2, 3 and 4.
TestTensors joined() {
  const auto leaf = [](const Name& dim, int64_t size) {
    return TestTensors::mapped_type{
        Type{{{split({"N"}), split({"M"}, {"d"}), split({dim})}, {}}, Dtype::f32},
        Element::f32,
        {3, 2, size}};
  };
  return {{"x", leaf("D", 3)}, {"y", leaf("W", 4)}};
}

TEST_F(Interchange, ATensorHoldsTheEntriesOfTwoLeaves) {
  put("mapping.json", joined_text);
  const DimSizes joined_sizes = {{"Z", 2}, {"N", 3}, {"M", 2}, {"D", 3}, {"W", 4}};
  for (const char* from : {"", "d=2"}) {
    const std::string folder = std::string("out") + from;
    const Mesh mesh = Mesh::parse(from);
    run_on_threads(static_cast<int>(mesh.ranks()), [&](Communicator& communicator) {
      TestState state(joined(), mesh, communicator.rank());
      number(state, mesh, communicator.rank());
      save(mapping(), at(folder), communicator, mesh, {joined_sizes, {{"far", 1}}}, state.leaves());
    });
    EXPECT_EQ(mapping().numbers(at(folder)).sizes, joined_sizes);
    const std::string bytes = tensor(folder, "h.4.xy");
    const auto value = [&](int row, int m) {
      float number;
      std::memcpy(&number, bytes.data() + 4 * (row * 2 + m), 4);
      return number;
    };
    for (int m = 0; m < 2; ++m) {
      for (int d = 0; d < 3; ++d) EXPECT_EQ(value(d, m), (2 * 2 + m) * 3 + d);
      for (int w = 0; w < 4; ++w)  // entries 0 1 2 3 of the leaf are in the pairs 0 2, 1 3
        EXPECT_EQ(value(3 + 2 * (w % 2) + w / 2, m), (2 * 2 + m) * 4 + w);
    }
    for (const char* to : {"", "d=2"}) {
      const Mesh other = Mesh::parse(to);
      run_on_threads(static_cast<int>(other.ranks()), [&](Communicator& communicator) {
        TestState state(joined(), other, communicator.rank());
        TestState wanted(joined(), other, communicator.rank());
        number(wanted, other, communicator.rank());
        load(mapping(), at(folder), communicator, other, joined_sizes, state.leaves());
        for (size_t i = 0; i < state.leaves().size(); ++i)
          EXPECT_EQ(values(*state.leaves()[i].tensor), values(*wanted.leaves()[i].tensor));
      });
    }
  }
}

TEST_F(Interchange, AJoinedTensorThatDoesNotFitIsRefused) {
  const auto said = [&](const std::string& from, const std::string& to, const std::string& config) {
    std::string text = joined_text;
    text.replace(text.find(from), from.size(), to);
    put("mapping.json", text);
    put("net/config.json",
        "{\"model_type\":\"net\",\"wide\":2,\"dense\":2,\"d\":3,\"w\":4" + config + "}");
    try {
      mapping().numbers(at("net"));
      return std::string();
    } catch (const FileError& error) {
      return std::string(error.what());
    }
  };
  EXPECT_EQ(said("far", "far", R"(,"layers":5)"), "");
  EXPECT_EQ(said("far", "far", R"(,"layers":5,"rope":{"factor":2,"far":1})"), "");
  EXPECT_THAT(said("far", "far", R"(,"layers":5,"rope":{"factor":2})"),
              HasSubstr("rope.far is missing"));
  EXPECT_THAT(said("far", "far", R"(,"layers":2)"), HasSubstr("layers=2 does not agree"));
  EXPECT_THAT(said("D+W M -> M W", "D+W M -> M D", ""), HasSubstr("no leaf has part W of h."));
  EXPECT_THAT(said("D+W M -> M W", "W+D M -> M W", ""), HasSubstr("no leaf has part W of h."));
  EXPECT_THAT(said("D+W M -> M W", "D+V M -> M W", ""), HasSubstr("the leaf has no dim of D+V"));
}

TEST_F(Interchange, AFolderThatIsThereIsNotOverwritten) {
  write("out", Mesh());
  try {
    run_on_threads(1, [&](Communicator& communicator) {
      TestState state(net(), Mesh(), 0);
      save(mapping(), at("out"), communicator, Mesh(), {sizes, {}}, state.leaves());
    });
    ADD_FAILURE() << "overwritten";
  } catch (const CommError& error) {
    EXPECT_THAT(error.what(), HasSubstr("out: is there already"));
  }
  EXPECT_EQ(read("out", Mesh()), "");
}

}  // namespace
}  // namespace shardproof::interchange
