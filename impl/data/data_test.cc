// Token files, the made-up corpus, and the order of sequences on every mesh.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <fstream>
#include <numeric>
#include <random>
#include <set>

#include "impl/data/corpus.h"
#include "impl/data/loader.h"
#include "impl/data/tokenizer.h"
#include "kernels/number.h"

namespace shardproof::data {
namespace {

using ::testing::HasSubstr;

std::filesystem::path written(const std::string& name, const std::string& bytes) {
  const auto path = std::filesystem::path(::testing::TempDir()) / name;
  std::ofstream(path, std::ios::binary) << bytes;
  return path;
}

template <class Number>
std::string bytes_of(const std::vector<Number>& numbers) {
  std::string bytes(numbers.size() * sizeof(Number), '\0');
  std::memcpy(bytes.data(), numbers.data(), bytes.size());
  return bytes;
}

std::string header(int32_t magic, int32_t version, int32_t count) {
  std::vector<int32_t> words(256);
  words[0] = magic;
  words[1] = version;
  words[2] = count;
  return bytes_of(words);
}

std::vector<uint32_t> all(const Tokens& tokens) {
  std::vector<uint32_t> numbers(static_cast<size_t>(tokens.size()));
  tokens.read(0, numbers);
  return numbers;
}

std::string refusal(const std::filesystem::path& path,
                    TokenFormat format = TokenFormat::automatic) {
  try {
    Tokens::of_files({path}, format);
  } catch (const FileError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(Tokens, AreReadInEachFormat) {
  const std::vector<uint32_t> numbers{1, 50256, 7};
  const auto raw16 = written("raw16", bytes_of(std::vector<uint16_t>{1, 50256, 7})),
             raw32 = written("raw32", bytes_of(numbers)),
             gpt2 = written("gpt2.bin",
                            header(20240520, 1, 3) + bytes_of(std::vector<uint16_t>{1, 50256, 7})),
             llama = written("llama.bin", header(20240801, 7, 3) + bytes_of(numbers));
  EXPECT_EQ(all(Tokens::of_files({raw16})), numbers);
  EXPECT_EQ(all(Tokens::of_files({raw32}, TokenFormat::u32)), numbers);
  EXPECT_EQ(all(Tokens::of_files({gpt2})), numbers);
  EXPECT_EQ(all(Tokens::of_files({llama})), numbers);
  EXPECT_EQ(Tokens::of_files({gpt2}).document(), 50256u);
  EXPECT_EQ(Tokens::of_files({llama}).document(), 128000u);
  EXPECT_EQ(all(Tokens::of_files({written("a.txt", "ab")})), (std::vector<uint32_t>{'a', 'b'}));
}

TEST(Tokens, OfSeveralShardsAreOneText) {
  const Tokens tokens = Tokens::of_files(
      {written("one.txt", "abc"), written("none.txt", ""), written("two.txt", "de")});
  EXPECT_EQ(all(tokens), (std::vector<uint32_t>{'a', 'b', 'c', 'd', 'e'}));
  std::vector<uint32_t> middle(3);
  tokens.read(2, middle);
  EXPECT_EQ(middle, (std::vector<uint32_t>{'c', 'd', 'e'}));
  EXPECT_THAT(tokens.where(3), HasSubstr("token 0 of"));
  EXPECT_THAT(tokens.where(3), HasSubstr("two.txt"));
}

TEST(Tokens, ThatAreNoneAreRefusedByName) {
  EXPECT_THAT(refusal("no/such/file"), HasSubstr("no/such/file: cannot open"));
  EXPECT_THAT(refusal(::testing::TempDir()), HasSubstr("is a directory"));
  EXPECT_THAT(refusal(written("odd", "abc")), HasSubstr("cut off"));
  EXPECT_THAT(refusal(written("a.npy", "\x93NUMPY..")), HasSubstr("NumPy"));
  EXPECT_THAT(refusal(written("short.bin", header(20240520, 1, 4) + "aabb")),
              HasSubstr("the header says 4 tokens, and the file has room for 2"));
  EXPECT_THAT(refusal(written("new.bin", header(20240520, 2, 0))), HasSubstr("version 2"));
}

TEST(Tokens, OfAFileThatShrinksAreAnError) {
  const auto path = written("shrinks.txt", "abcdefgh");
  const Tokens tokens = Tokens::of_files({path});
  std::filesystem::resize_file(path, 4);
  std::vector<uint32_t> numbers(8);
  EXPECT_THROW(tokens.read(0, numbers), FileError);
}

TEST(Corpus, IsTheSameTextForASeedAndHasTrueSums) {
  const std::string text = made_up_corpus(5000, 3);
  EXPECT_EQ(text, made_up_corpus(5000, 3));
  EXPECT_NE(text, made_up_corpus(5000, 4));
  EXPECT_GE(text.size(), 5000u);
  EXPECT_EQ(text[0], '\0');
  int sums = 0;
  for (size_t at = text.find(" + "); at != std::string::npos;
       at = text.find(" + ", at + 1), ++sums) {
    const size_t begin = text.rfind(' ', at - 1) + 1;
    int a = 0, b = 0, c = 0;
    ASSERT_EQ(std::sscanf(text.c_str() + begin, "%d + %d = %d", &a, &b, &c), 3);
    EXPECT_EQ(a + b, c);
  }
  EXPECT_GT(sums, 10);
}

TEST(Shuffled, IsAPermutationAndDependsOnTheKey) {
  for (uint64_t n : {1, 2, 3, 17, 64, 1000}) {
    std::set<uint64_t> seen;
    uint64_t fixed = 0;
    for (uint64_t i = 0; i < n; ++i) {
      seen.insert(shuffled(i, n, 5));
      EXPECT_LT(shuffled(i, n, 5), n);
      fixed += shuffled(i, n, 5) == i;
    }
    EXPECT_EQ(seen.size(), n);
    EXPECT_LT(fixed, 4 + n / 8);
  }
  EXPECT_NE(shuffled(0, 1000, 5), shuffled(0, 1000, 6));
}

/// `A` microbatches of `B` sequences of `L` tokens.
struct Setting {
  ir::Program program;
  DimSizes dims{{"A", 2}, {"B", 4}, {"L", 6}};

  Setting() {
    for (const char* name : {"A", "B", "L"}) program.dims[name].shown = name;
    for (const char* axis : {"d", "t"}) program.axes[axis];
  }
  Type type(const Axis& of_batch, const Axis& of_positions, Dtype dtype) const {
    Type type;
    type.dtype = dtype;
    const auto split = [](const Name& dim, const Axis& axis) {
      return Split{Dim{{dim}}, axis.empty() ? std::vector<Axis>{} : std::vector<Axis>{axis}};
    };
    type.dims = {split("A", ""), split("B", of_batch), split("L", of_positions)};
    return type;
  }
};

std::shared_ptr<const Tokens> counted(uint32_t count) {
  std::vector<uint32_t> numbers(count);
  std::iota(numbers.begin(), numbers.end(), 0);
  return std::make_shared<const Tokens>(Tokens::of_numbers(numbers, "counted"));
}

/// What each rank of the mesh has of a parameter, put where it belongs.
std::vector<double> whole(const Setting& setting, const Name& name, const Mesh& mesh,
                          const Axis& of_batch, const Axis& of_positions, int64_t position) {
  std::vector<double> all(2 * 4 * 6, -1);
  for (int64_t rank = 0; rank < mesh.ranks(); ++rank) {
    Loader loader(counted(1000), {.seed = 3});
    loader.seek(position);
    const Placement placement(setting.program, mesh, setting.dims, rank);
    const Type type =
        setting.type(of_batch, of_positions, name == "starts" ? Dtype::boolean : Dtype::i32);
    LocalTensor tensor(type, element_of(type.dtype, Precision::as_written),
                       placement.extents(type));
    loader.fill(name, placement, tensor);
    const std::vector<int64_t> strides = row_major(tensor.extents);
    for (int64_t i = 0; i < tensor.count(); ++i) {
      int64_t at = 0;
      for (size_t d = 0; d < 3; ++d)
        at = at * setting.dims.at(type.dims[d].dim.factors[0]) + placement.first(type.dims[d]) +
             i / strides[d] % tensor.extents[d];
      all[static_cast<size_t>(at)] = number_at(tensor.element, tensor.buffer.data(), i);
    }
  }
  return all;
}

TEST(Loader, GivesTheSameSequencesOnEveryMesh) {
  const Setting setting;
  for (const char* name : {"ids", "targets", "starts"}) {
    const std::vector<double> alone = whole(setting, name, Mesh(), "", "", 16);
    EXPECT_EQ(whole(setting, name, Mesh::parse("d=2"), "d", "", 16), alone);
    EXPECT_EQ(whole(setting, name, Mesh::parse("d=2,t=3"), "d", "t", 16), alone);
    EXPECT_EQ(whole(setting, name, Mesh::parse("d=4,t=2"), "d", "t", 16), alone);
  }
  EXPECT_NE(whole(setting, "ids", Mesh(), "", "", 16), whole(setting, "ids", Mesh(), "", "", 24));
}

TEST(Loader, TargetsAreTheNextTokensAndSequencesDoNotOverlap) {
  const Setting setting;
  std::set<double> seen;
  for (int64_t position = 0; position < 160; position += 8) {
    const auto ids = whole(setting, "ids", Mesh(), "", "", position),
               targets = whole(setting, "targets", Mesh(), "", "", position);
    for (size_t i = 0; i < ids.size(); ++i) {
      EXPECT_EQ(targets[i], ids[i] + 1);
      EXPECT_TRUE(seen.insert(ids[i]).second);
    }
  }
}

TEST(Loader, KeepsValidationApartAndNamesATokenThatIsTooLarge) {
  const Setting setting;
  const auto tokens = counted(601);  // 100 sequences
  EXPECT_EQ(Loader(tokens, {.to = 0.9}).sequences(6), 90);
  EXPECT_EQ(Loader(tokens, {.from = 0.9}).sequences(6), 10);
  EXPECT_THROW(Loader(tokens, {}).sequences(601), FileError);
  EXPECT_EQ(Loader(tokens, {}).sequences(600), 1);
  Loader loader(tokens, {.shuffle = false, .below = 40});
  const Type type = setting.type("", "", Dtype::i32);
  const Placement placement(setting.program, Mesh(), setting.dims, 0);
  LocalTensor tensor(type, Element::i32, placement.extents(type));
  try {
    loader.fill("ids", placement, tensor);
    FAIL();
  } catch (const FileError& error) {
    EXPECT_THAT(error.what(), HasSubstr("token 40 of counted is 40"));
  }
}

// tokenizer_test.json was trained, and these texts encoded, by Hugging Face's tokenizers 0.23.3.
TEST(Tokenizer, EncodesAsItsLibraryDoes) {
  const Tokenizer tokenizer =
      Tokenizer::load(SHARDPROOF_SOURCE_DIR "/impl/data/tokenizer_test.json");
  const std::vector<std::pair<std::string, std::vector<uint32_t>>> recorded = {
      {"It was a sunny day at the market.",
       {266, 318, 260, 317, 302, 89, 280, 320, 259, 327, 298, 14}},
      {"  two  spaces\n\n and tabs\t\tx ", {221, 258, 87,  79,  221, 221, 83, 80,  65,  67, 267,
                                            199, 199, 321, 258, 65,  66,  83, 198, 198, 88, 221}},
      {"Ada's apples, isn't it? 12345 = 3+4!",
       {265, 264, 281, 12, 326, 282, 325, 31, 311, 19, 20, 21, 221, 29, 307, 11, 20, 1}},
      {"a<|endoftext|>b", {65, 0, 66}},
      {"", {}},
      {"x   ", {88, 221, 221, 221}},
      {"'s't 'll'", {264, 282, 221, 7, 268, 7}},
      {" \n x", {221, 199, 221, 88}},
      {"it's'", {73, 84, 264, 7}},
  };
  for (const auto& [text, tokens] : recorded) {
    EXPECT_EQ(tokenizer.encode(text), tokens) << text;
    EXPECT_EQ(tokenizer.decode(tokens), text);
  }
  EXPECT_EQ(tokenizer.document(), 0u);
  EXPECT_EQ(tokenizer.decode(std::vector<uint32_t>{128, 103, 84, 128, 103}), "\u00e9t\u00e9");
  try {
    tokenizer.encode("one\n\u00e9t\u00e9");
    FAIL();
  } catch (const FileError& error) {
    EXPECT_THAT(error.what(), HasSubstr("line 2 of the text is not ASCII"));
  }
  const std::string corpus = made_up_corpus(20'000, 5);
  EXPECT_EQ(tokenizer.decode(tokenizer.encode(corpus)), corpus);
}

TEST(Tokenizer, AWordOfAMegabyteIsEncoded) {
  const Tokenizer tokenizer =
      Tokenizer::load(SHARDPROOF_SOURCE_DIR "/impl/data/tokenizer_test.json");
  std::string word;
  while (word.size() < 1'000'000) word += "marketsunny";
  const std::vector<uint32_t> tokens = tokenizer.encode(word);
  EXPECT_LT(tokens.size(), word.size());
  EXPECT_EQ(tokenizer.decode(tokens), word);
}

TEST(BytePairs, TheEarliestPairIsJoinedFirstAndOfEqualsTheLeftmost) {
  std::mt19937 rng(1);
  for (int round = 0; round < 300; ++round) {
    BytePairs pairs;
    std::vector<std::array<uint32_t, 3>> merges;
    for (uint32_t joined = 3; joined < 9; ++joined) {
      const uint32_t left = rng() % joined, right = rng() % joined;
      if (std::any_of(merges.begin(), merges.end(),
                      [&](const auto& each) { return each[0] == left && each[1] == right; }))
        continue;
      merges.push_back({left, right, joined});
      pairs.add(left, right, joined);
    }
    std::vector<uint32_t> tokens(rng() % 40);
    for (uint32_t& token : tokens) token = rng() % 3;
    std::vector<uint32_t> wanted = tokens;
    for (size_t rank = 0; rank < merges.size();) {  // as it is defined
      const auto found =
          std::search(wanted.begin(), wanted.end(), merges[rank].begin(), merges[rank].begin() + 2);
      if (found == wanted.end()) {
        ++rank;
        continue;
      }
      *found = merges[rank][2];
      wanted.erase(found + 1);
      rank = 0;
    }
    pairs.join(tokens);
    EXPECT_EQ(tokens, wanted) << round;
  }
}

TEST(Tokenizer, OfAnotherKindIsRefused) {
  const auto refusal = [](const std::filesystem::path& path) -> std::string {
    try {
      Tokenizer::load(path).encode("a");
    } catch (const FileError& error) {
      return error.what();
    }
    return "accepted";
  };
  EXPECT_THAT(refusal("no.json"), HasSubstr("no.json: cannot be opened"));
  EXPECT_THAT(refusal(written("a.json", "{\"a\"")), HasSubstr("is not a tokenizer.json"));
  EXPECT_THAT(
      refusal(written("a.json", "\"a line of some other file")),
      testing::AllOf(HasSubstr("missing closing quote"), testing::Not(HasSubstr("other file"))));
  EXPECT_THAT(refusal(written("b.json", R"({"model": {"type": "Unigram"}})")),
              HasSubstr("Unigram, not BPE"));
  EXPECT_THAT(refusal(written("c.json", R"({"model": {"vocab": {"a": 0}, "merges": ["ab"]}})")),
              HasSubstr("is not a pair"));
  EXPECT_THAT(refusal(written("d.json", R"({"model": {"vocab": {"a": 0}, "merges": []}})")),
              HasSubstr("differently from GPT-2"));
  EXPECT_THAT(
      refusal(written("d.json", R"({"model": {"vocab": {"a": 0}, "merges": 1e400}})")),
      testing::AllOf(HasSubstr("number overflow"), testing::Not(HasSubstr("json.exception"))));
  for (const char* id : {"4294967295", "4294967294", "4194304", "-1", "1.5", "\"1\"", "1e30"}) {
    const std::string text = std::string(R"({"model": {"vocab": {"a": )") + id + "}}}";
    EXPECT_THAT(refusal(written("e.json", text)), HasSubstr("ids are whole numbers below 4194304"));
    const std::string added = std::string(R"({"model": {"vocab": {}}, "added_tokens": [{"id": )") +
                              id + R"(, "content": "x"}]})";
    EXPECT_THAT(refusal(written("f.json", added)), HasSubstr("the token \"x\" has the id"));
  }
  const auto with_added = [](const std::string& vocab, const std::string& added) {
    return written("h.json", R"({"model": {"vocab": {)" + vocab +
                                 R"(}, "merges": []}, "added_tokens": [)" + added + "]}");
  };
  EXPECT_THAT(refusal(with_added(R"("a": 1, "b": 1)", "")),
              HasSubstr("the tokens \"a\" and \"b\" have the same id, 1"));
  EXPECT_THAT(refusal(with_added(R"("a": 1)", R"({"id": 1, "content": "x"})")),
              HasSubstr("the tokens \"a\" and \"x\" have the same id, 1"));
  EXPECT_THAT(refusal(with_added(R"("a": 1)", R"({"id": 2, "content": "a"})")),
              HasSubstr("the token \"a\" has two ids, 1 and 2"));
  EXPECT_THAT(refusal(with_added(R"("a": 1)", R"({"id": 1, "content": "a"})")),
              HasSubstr("differently from GPT-2"));  // as in GPT-2's file
  EXPECT_THAT(refusal("/dev/zero"), HasSubstr("/dev/zero: is not a regular file"));
  EXPECT_THAT(refusal(with_added(R"("a": 1, "a": 2)", "")),
              HasSubstr("the key \"a\" stands twice"));
  const std::string deep = std::string(400'000, '[') + std::string(400'000, ']');
  EXPECT_THAT(refusal(written("g.json", R"({"model": {"vocab": {"a": )" + deep + "}}}")),
              HasSubstr("nested 400003 deep; at most 64"));
}

}  // namespace
}  // namespace shardproof::data
