#pragma once
// Faults of many plans, judged and counted.
#include <array>
#include <map>

#include "properties/faults/judge.h"

namespace shardproof::faults {

struct Row {
  std::string name;
  size_t plans = 0, made = 0, meshes = 0, survived = 0;
  std::array<size_t, outcomes> of{};  ///< by outcome

  size_t count(Outcome outcome) const { return of[static_cast<size_t>(outcome)]; }
  size_t refused() const;
  void add(const Judgement& judgement);
  void add(const Row& other);
};

/// A fault that is listed by itself.
struct Listed {
  Outcome outcome;
  bool survived;
  std::string text;  ///< "ffn.shard:18 ffn_sharded: w_up for w_gate in bf16"
};

struct Tally {
  std::vector<Row> rows;  ///< per model
  std::array<Row, families> by_family;
  std::vector<Listed> listed;  ///< survivors, unknown, equal at small sizes; and plans that fail

  Row total() const;
};

struct Sample {
  size_t each = 0;       ///< faults per plan and family; 0: all
  bool derived = false;  ///< also of derived backwards
  unsigned seed = 1;
  bool list_all = false;  ///< and not only what needs a look
};

/// Judges the faults of every proved plan of a file, in rows of that name and the plans' kind.
void plant(const std::string& row, const std::string& path, const Sample& options,
           const Checker& checker, Tally& tally, const FileReader& reader = disk_reader());

std::string table(const Tally& tally);
std::string json(const Tally& tally);

}  // namespace shardproof::faults
