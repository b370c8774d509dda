#pragma once
// A time limit for the check of one file.
#include <ctime>

namespace shardproof {

/// The processor time of the checking thread: a busy machine does not change a verdict.
inline double seconds_of_thread() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

/// The end of one search.
class SearchLimit {
 public:
  explicit SearchLimit(double seconds) : end_(seconds_of_thread() + seconds) {}
  bool ended() const { return seconds_of_thread() > end_; }

 private:
  double end_;
};

class FileBudget {
 public:
  /// Plans that start after `seconds` are unknown. Fixes and counterexamples have their own shares.
  static constexpr double seconds = 7, of_fixes = 3, of_examples = 2;
  /// One search for a difference, before a long proof and without one; for the range in which there
  /// is none.
  static constexpr double of_a_glance = 0.25, of_points = 3, of_ranges = 1;

  /// `patience` multiplies the limits.
  explicit FileBudget(double patience = 1) : patience_(patience) {}

  bool ended() const { return spent() > seconds; }
  double spent() const { return (seconds_of_thread() - begin_) / patience_; }

  /// Adds its lifetime to a share.
  class Part {
   public:
    Part(const FileBudget& budget, double& spent)
        : budget_(budget), spent_(spent), begin_(budget.spent()) {}
    ~Part() { spent_ += budget_.spent() - begin_; }
    Part(const Part&) = delete;
    Part& operator=(const Part&) = delete;

   private:
    const FileBudget& budget_;
    double& spent_;
    double begin_;
  };
  bool has_fixes() const { return fixes < of_fixes; }
  bool has_examples() const { return examples < of_examples; }
  double fixes = 0, examples = 0;  ///< seconds spent

 private:
  double patience_;
  double begin_ = seconds_of_thread();
};

}  // namespace shardproof
