#include "study/sweep/run/piece.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <iterator>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include <pipeloom/error.hpp>

namespace pipeloom::sweep {
namespace {

/// Small enough for a stop to be quick and the last pieces to be shared out evenly.
constexpr std::uint64_t kMostPerPiece = 64;
constexpr std::uint64_t kMostPieces = std::uint64_t{1} << 16;
constexpr std::uint64_t kPiecesPerWorker = 256;

std::uint64_t divided_up(std::uint64_t a, std::uint64_t b) {
  return a / b + (a % b != 0 ? 1 : 0);
}

/// Runs `work` on that number of threads and rethrows the first error of any of them.
template <class Work>
void on_threads(int threads, const Work& work) {
  std::exception_ptr error;
  std::mutex mutex;
  std::vector<std::thread> running;
  const auto guarded = [&] {
    try {
      work();
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (!error) error = std::current_exception();
    }
  };
  try {
    for (int i = 1; i < threads; ++i) running.emplace_back(guarded);
  } catch (const std::system_error&) {
    // The system has no more threads: those that run, this one at least, do it all.
  }
  guarded();
  for (std::thread& thread : running) thread.join();
  if (error) std::rethrow_exception(error);
}

/// How many combinations of a piece hold.
std::uint64_t count_points(const Grid& grid, std::uint64_t begin, std::uint64_t end, Combination& buffer) {
  std::uint64_t points = 0;
  for (std::uint64_t index = begin; index < end; ++index)
    if (grid.combination(index, buffer)) ++points;
  return points;
}

/// The message of Error::line(). A result does not have the path of its grid: its bytes would depend on it.
std::string without_place(const std::string& line) {
  constexpr std::string_view kMark = "error: ";
  const std::size_t mark = line.find(kMark);
  return mark == std::string::npos ? line : line.substr(mark + kMark.size());
}

}  // namespace

std::uint64_t piece_size(std::uint64_t combinations, int workers) {
  const auto share =
      divided_up(combinations, kPiecesPerWorker * static_cast<std::uint64_t>(std::max(1, workers)));
  const std::uint64_t least = divided_up(combinations, kMostPieces);
  return std::max<std::uint64_t>({1, least, std::min(share, kMostPerPiece)});
}

Pieces::Pieces(const Grid& grid, std::uint64_t size, int threads, const std::atomic<bool>* stop)
    : combinations_(grid.combinations()), size_(size), points_(combinations_) {
  if (!grid.has_conditions()) return;
  first_point_.resize(count());
  std::atomic<std::uint64_t> next{0};
  on_threads(threads, [&] {
    Combination buffer;
    for (std::uint64_t i = next++; i < first_point_.size(); i = next++) {
      if (stop != nullptr && *stop) return;
      const std::uint64_t begin = i * size_;
      first_point_[i] = count_points(grid, begin, std::min(begin + size_, combinations_), buffer);
    }
  });
  points_ = 0;
  for (std::uint64_t& entry : first_point_) points_ += std::exchange(entry, points_);
}

std::uint64_t Pieces::count() const {
  return divided_up(combinations_, size_);
}

Piece Pieces::at(std::uint64_t i) const {
  const std::uint64_t begin = i * size_;
  return {begin, std::min(begin + size_, combinations_), first_point_.empty() ? begin : first_point_[i]};
}

std::uint64_t Pieces::piece_of(std::uint64_t point) const {
  if (point >= points_) return count();
  if (first_point_.empty()) return point / size_;
  const auto upper = std::upper_bound(first_point_.begin(), first_point_.end(), point);
  return static_cast<std::uint64_t>(upper - first_point_.begin()) - 1;
}

PieceWorker::PieceWorker(Grid grid, Evaluator evaluator, LineWriter lines, std::optional<Shard> shard)
    : grid_(std::move(grid)), evaluator_(std::move(evaluator)), lines_(std::move(lines)), shard_(shard) {
  const std::vector<std::string>& keys = grid_.keys();
  const auto found = std::find(keys.begin(), keys.end(), "microbatches");
  if (found != keys.end()) microbatches_ = static_cast<std::uint32_t>(found - keys.begin());
}

PieceText PieceWorker::run(const Piece& piece, std::uint64_t skip_below, const std::atomic<bool>* stop) {
  PieceText out;
  out.end_point = piece.first_point;
  for (std::uint64_t index = piece.begin; index < piece.end; ++index) {
    if (stop != nullptr && *stop) {
      out.complete = false;
      return out;
    }
    if (!grid_.combination(index, combination_)) continue;
    const std::uint64_t point = out.end_point++;
    if (point < skip_below) continue;
    const std::string key = grid_.key(combination_);
    if (shard_ && !shard_->has(key)) continue;
    evaluate();
    lines_.append_identity(out.lines, combination_, point, key);
    lines_.append_outcome(out.lines, outcome_);
    out.counts.add(outcome_.status);
  }
  return out;
}

void PieceWorker::name_family() {
  family_.clear();
  if (!microbatches_) return;
  for (const Setting& setting : combination_.settings)
    if (setting.key != *microbatches_)
      fmt::format_to(std::back_inserter(family_), "{}={},", setting.key, setting.json);
  family_ += '.';  // never empty
}

void PieceWorker::evaluate() {
  try {
    name_family();
    evaluator_.evaluate(grid_.config(combination_), outcome_, family_);
    outcome_.error = without_place(outcome_.error);
  } catch (const InputError& error) {
    // Values that no configuration may have.
    outcome_.status = Status::Illegal;
    outcome_.metrics.clear();
    outcome_.error = error.what();
  }
}

}  // namespace pipeloom::sweep
