#include "impl/comm/store/local_store.h"

namespace shardproof {

void LocalStore::set(const std::string& key, const std::string& bytes) {
  const std::lock_guard lock(mutex_);
  values_[key] = bytes;
}

bool LocalStore::add(const std::string& key, const std::string& bytes) {
  const std::lock_guard lock(mutex_);
  return values_.emplace(key, bytes).second;
}

std::optional<std::string> LocalStore::find(const std::string& key) {
  const std::lock_guard lock(mutex_);
  const auto found = values_.find(key);
  if (found == values_.end()) return std::nullopt;
  return found->second;
}

std::unique_ptr<Store> local_store() { return std::make_unique<LocalStore>(); }

}  // namespace shardproof
