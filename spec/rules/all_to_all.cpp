// all_to_all: moves the last axes of one dim to the end of another dim's list.
#include "spec/rules/collective.h"

namespace shardproof::rules {

void all_to_all(Application& app) {
  const char* does = "all_to_all moves the last axes of one dim to the end of another's list";
  const Moved axes = moved(app);
  if (axes.added != axes.removed || axes.growing.size() > 1 || axes.shrinking.size() > 1)
    not_its_work(app, axes.removed.empty() ? axes.added : axes.removed, does);
  need_bystanders(app, axes.added);
  need_action(app, axes.added, does);
}

}  // namespace shardproof::rules
