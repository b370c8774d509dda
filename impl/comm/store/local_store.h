#pragma once
// A store in this process.
#include <map>
#include <mutex>

#include "impl/comm/store/store.h"

namespace shardproof {

class LocalStore : public Store {
 public:
  void set(const std::string& key, const std::string& bytes) override;
  bool add(const std::string& key, const std::string& bytes) override;
  std::optional<std::string> find(const std::string& key) override;

 private:
  std::mutex mutex_;
  std::map<std::string, std::string> values_;
};

}  // namespace shardproof
