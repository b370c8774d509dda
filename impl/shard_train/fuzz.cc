// libFuzzer: any bytes are a file that shard-train reads. Its first byte chooses the kind. A reader
// returns, or throws FileError; the returned ranges lie inside the file.
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <sstream>

#include "impl/checkpoint/checksum.h"
#include "impl/checkpoint/folder.h"
#include "impl/checkpoint/manifest.h"
#include "impl/checkpoint/safetensors.h"
#include "impl/data/tokenizer.h"
#include "impl/data/tokens.h"
#include "impl/interchange/mapping.h"

namespace {

using namespace shardproof;
namespace fs = std::filesystem;

void require(bool holds, const char* law) {
  if (holds) return;
  std::cerr << "broken: " << law << "\n";
  std::abort();
}

/// In memory, one for each process.
const fs::path& folder() {
  static const fs::path made = [] {
    fs::path path = "/dev/shm/shardproof_fuzz_XXXXXX";
    std::string name = path.string();
    require(::mkdtemp(name.data()) != nullptr, "a folder can be made");
    std::atexit([] { fs::remove_all(folder()); });
    return fs::path(name);
  }();
  return made;
}

fs::path put(const fs::path& name, const std::string& text) {
  const fs::path path = folder() / name;
  fs::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << text;
  return path;
}

void safetensors_file(const std::string& text) {
  const checkpoint::File file = checkpoint::File::open(put("a.safetensors", text));
  for (const auto& [name, entry] : safetensors::read_header(file)) {
    require(entry.begin <= text.size() && entry.bytes <= text.size() - entry.begin,
            "a tensor lies in its file");
    for (const int64_t extent : entry.extents) require(extent >= 0, "an extent is a size");
  }
}

/// The checksum is made true: mutants would not get beyond it.
void manifest(const std::string& text) {
  const std::string line =
      "{\"xxh3\":\"" + checkpoint::hex(checkpoint::checksum(text.data(), text.size())) + "\",\n";
  put("step-00000001/manifest.json", line + text);
  const checkpoint::Manifest read = checkpoint::read_manifest(folder() / "step-00000001");
  require(read.position.step >= 0, "a step is a number of steps");
  for (const auto& [name, tensor] : read.tensors)
    for (const checkpoint::Piece& piece : tensor.pieces)
      require(piece.file < read.files.size(), "a piece is in a file");
  checkpoint::found(folder());
}

void tokenizer(const std::string& text) {
  const data::Tokenizer read = data::Tokenizer::load(put("tokenizer.json", text));
  for (const uint32_t token : read.encode("It's a  test, 123\n<|endoftext|> end "))
    require(token < 1 << 22, "a token is of the vocabulary");
  read.decode(std::vector<uint32_t>{0, 1, 2, 1 << 21, UINT32_MAX});
}

void tokens(const std::string& name, const std::string& text) {
  const data::Tokens read = data::Tokens::of_files({put(name, text)});
  require(read.size() >= 0 && read.size() <= static_cast<int64_t>(text.size()),
          "tokens take bytes");
  std::vector<uint32_t> all(static_cast<size_t>(read.size()));
  read.read(0, all);
}

const interchange::Mapping& mapping(const std::string& name) {
  static std::map<std::string, interchange::Mapping> known;
  const auto found = known.find(name);
  if (found != known.end()) return found->second;
  return known
      .emplace(name, interchange::Mapping::read(SHARDPROOF_SOURCE_DIR "/spec/models/" + name))
      .first->second;
}

void config(const std::string& name, const std::string& text) {
  put("config/config.json", text);
  mapping(name).tied(folder() / "config");
  for (const auto& [dim, size] : mapping(name).numbers(folder() / "config").sizes)
    require(size >= 0, "a size is a number");
}

void read_as(uint8_t kind, const std::string& text) {
  switch (kind % 6) {
    case 0:
      return safetensors_file(text);
    case 1:
      return manifest(text);
    case 2:
      return tokenizer(text);
    case 3:
      return tokens("data.bin", text);
    case 4:
      return config("llama3.hf.json", text);
    case 5:
      return config("gpt2.hf.json", text);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  try {
    read_as(data[0], std::string(reinterpret_cast<const char*>(data) + 1, size - 1));
  } catch (const FileError& error) {
    require(*error.what() != 0, "an error has a text");
  }
  return 0;
}
