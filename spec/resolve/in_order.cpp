#include "spec/resolve/in_order.h"

#include <algorithm>

namespace shardproof::resolution {

std::optional<Fix> groups_in_order(const Sources& sources,
                                   const std::vector<const syntax::Group*>& groups,
                                   const std::vector<Name>& names) {
  if (groups.size() != names.size()) return std::nullopt;
  Fix fix{"put them in the order `", {}, false, ""};
  for (size_t i = 0; i < groups.size(); ++i) {
    const auto found = std::find_if(groups.begin(), groups.end(), [&](const syntax::Group* each) {
      return each->names.size() == 1 && each->names[0] == names[i];
    });
    if (found == groups.end()) return std::nullopt;
    fix.message += (i == 0 ? "" : " ") + names[i];
    if (*found != groups[i])
      fix.edits.push_back({groups[i]->range, std::string(sources.text((*found)->range))});
  }
  fix.message += "`";
  if (fix.edits.empty()) return std::nullopt;
  return fix;
}

}  // namespace shardproof::resolution
