#include "impl/cli/foreign.h"

namespace shardproof::cli {

namespace fs = std::filesystem;

interchange::Mapping find_mapping(const Program& program, const std::string& given) {
  if (!given.empty()) return interchange::Mapping::read(given);
  std::vector<fs::path> found;
  std::string names;
  for (size_t i = 0; i < program.sources().size(); ++i) {
    const fs::path path = fs::path(program.sources().file(static_cast<int32_t>(i)).path)
                              .replace_extension(".hf.json");
    std::error_code ignored;
    if (!fs::is_regular_file(path, ignored)) continue;
    found.push_back(path);
    names += (names.empty() ? "" : ", ") + path.string();
  }
  if (found.size() == 1) return interchange::Mapping::read(found[0]);
  throw PlanError(found.empty()
                      ? "no file of the program has a NAME.hf.json beside it, which says how the "
                        "model lies in Hugging Face's format: give one, --hf-mapping FILE"
                      : "say which of " + names + ": --hf-mapping FILE");
}

std::vector<checkpoint::Leaf> weights_of(Trainer& trainer, const Name& group) {
  std::vector<checkpoint::Leaf> weights;
  for (checkpoint::Leaf& leaf : trainer.state())
    if (leaf.name.starts_with(group + ".")) {
      leaf.name.erase(0, group.size() + 1);
      weights.push_back(std::move(leaf));
    }
  return weights;
}

interchange::Numbers numbers_of(const Program& program, const Mesh& mesh, const DimSizes& dims) {
  const ir::Program& resolved = program.checked().program();
  const Placement placement(resolved, mesh, dims, 0);
  interchange::Numbers numbers{dims, resolved.consts};
  for (const auto& [name, info] : resolved.dims)
    if (info.size) numbers.sizes[name] = placement.size(Dim{{name}});
  return numbers;
}

}  // namespace shardproof::cli
