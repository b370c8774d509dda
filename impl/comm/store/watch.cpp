#include "impl/comm/store/watch.h"

#include "impl/comm/call.h"

namespace shardproof {
namespace {

using namespace std::chrono_literals;
constexpr auto between_looks = 50ms;
constexpr auto between_asking = 5ms;
constexpr auto longest_farewell = 10s;  ///< how long rank 0 waits for the others to leave
constexpr auto longest_last_word = 2s;  ///< and for them to read the reason after a failure
constexpr const char* fault_key = "fault";
constexpr const char* last_left_key =
    "last left";  ///< makes each poll one request, not one per rank

std::string beat_key(int rank) { return "beat/" + std::to_string(rank); }
std::string told_key(int rank) { return "told/" + std::to_string(rank); }
std::string left_key(int rank) { return "left/" + std::to_string(rank); }

/// Parses "3 rank 3: no more memory".
std::pair<int, std::string> read_fault(const std::string& text) {
  const size_t space = text.find(' ');
  return {std::stoi(text), text.substr(space + 1)};
}

}  // namespace

Watch::Watch(Store& store, int rank, int world, Milliseconds silence, Look look, Stop stop,
             const CallLog* calls)
    : store_(store),
      rank_(rank),
      world_(world),
      silence_(silence),
      look_own_(std::move(look)),
      stop_(std::move(stop)),
      calls_(calls),
      heard_at_(Clock::now()) {
  beat();
  thread_ = std::thread([this] { run(); });
}

Watch::~Watch() {
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
  }
  ends_.notify_all();
  thread_.join();
  try {
    say_left();
    if (rank_ == 0) wait_for_others();
  } catch (const CommError&) {
    // A rank ended without reporting: the ranks that need it will detect that.
  }
}

/// Also after a fault: other ranks read the fault first.
void Watch::say_left() {
  store_.set(left_key(rank_), calls_ ? text(calls_->counts()) : "");
  store_.set(last_left_key, std::to_string(rank_));
}

/// Rank 0 may serve the store, so it leaves last.
void Watch::wait_for_others() {
  const auto end = Clock::now() + (failed_ ? Milliseconds(longest_last_word) : longest_farewell);
  const auto knows = [&](int other) {
    return store_.find(left_key(other)) || (failed_ && store_.find(told_key(other)));
  };
  for (int other = 1; other < world_; ++other)
    while (!knows(other) && Clock::now() < end) std::this_thread::sleep_for(between_asking);
}

void Watch::run() {
  std::unique_lock lock(mutex_);
  while (!over_ && !fault_) {
    lock.unlock();
    look();
    lock.lock();
    ends_.wait_for(lock, between_looks, [&] { return over_; });
  }
}

void Watch::look() {
  try {
    if (const auto said = store_.find(fault_key)) {
      const auto [rank, what] = read_fault(*said);
      return take(rank, what);
    }
    if (Clock::now() - beat_at_ >= silence_ / 10) beat();
    hear_who_left();
    listen_to_next();
    look_for_missed();
  } catch (const std::exception& error) {
    return take(-1, "rank " + std::to_string(rank_) + ": the store is lost: " + error.what());
  }
  if (const std::string wrong = look_own_(); !wrong.empty()) fail(wrong);
}

void Watch::beat() {
  store_.set(beat_key(rank_), std::to_string(++beats_));
  beat_at_ = Clock::now();
}

/// Each rank watches the next one, in a ring.
void Watch::listen_to_next() {
  const int next = (rank_ + 1) % world_;
  if (next == rank_ || left_.contains(next)) return;
  const std::string beat = store_.find(beat_key(next)).value_or("");
  if (beat != heard_) {
    heard_ = beat;
    heard_at_ = Clock::now();
  }
  if (Clock::now() - heard_at_ >= silence_)
    tell(next, "rank " + std::to_string(next) +
                   " does not respond: it has died, or its machine is unreachable");
}

void Watch::hear_who_left() {
  const std::string last = store_.find(last_left_key).value_or("");
  if (last == last_left_) return;
  last_left_ = last;
  for (int other = 0; other < world_; ++other)
    if (other != rank_ && !left_.contains(other))
      if (const auto counts = store_.find(left_key(other)))
        left_.emplace(other, read_call_counts(*counts));
}

void Watch::look_for_missed() {
  if (!calls_) return;
  for (const auto& [other, counts] : left_)
    if (const std::string missed = calls_->missed(rank_, other, counts); !missed.empty())
      return tell(other, missed);
}

void Watch::tell(int rank, const std::string& what) {
  store_.add(fault_key, std::to_string(rank) + " " + what);
  const auto [first, said] = read_fault(store_.find(fault_key).value());
  take(first, said);
}

void Watch::fail(const std::string& reason) noexcept {
  try {
    const std::string what = said_by(rank_, reason);
    take(rank_, what);
    store_.add(fault_key, std::to_string(rank_) + " " + what);
  } catch (const std::exception&) {
    // The connection to the store is lost; the other ranks notice that too.
  }
}

void Watch::take(int rank, const std::string& what) noexcept {
  {
    const std::lock_guard lock(mutex_);
    if (fault_) return;
    fault_.emplace(rank, what);
    failed_ = true;
  }
  stop_();
  try {
    store_.set(told_key(rank_), "");
  } catch (const std::exception&) {
    // No rank is left to read it.
  }
}

void Watch::require_alive() {
  if (!failed_) return;
  const std::lock_guard lock(mutex_);
  throw *fault_;
}

}  // namespace shardproof
