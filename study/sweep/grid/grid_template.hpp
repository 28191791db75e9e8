#pragma once

// Configurations that are read once and then patched: reading one takes ten microseconds, and a sweep reads as many as it has points. A
// template is what read_run_config() makes of a block with placeholders for the keys that patches know (shapes, times, bytes); a patch puts in
// what reading its value would. Whatever a patch does not know exactly, such as a value that is refused or rounded, is read in full.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "study/sweep/grid/grid_content.hpp"

namespace pipeloom::sweep {

/// Sets one key of a configuration that was read with another value of it. False if the value must be read in full.
struct Patch {
  const io::Key* key = nullptr;
  std::size_t index = io::kWhole;  ///< of an array's entry: "costs.rank_scale.3"

  [[nodiscard]] bool apply(io::Config& config, std::string_view json, const Where& where) const;
  /// JSON that the key takes.
  [[nodiscard]] std::string_view placeholder() const;
};

/// The patch of a key, if there is one.
[[nodiscard]] std::optional<Patch> find_patch(std::string_view path);

class Templates {
 public:
  explicit Templates(const GridContent& content);
  /// The configuration that document_of() and read_run_config() would give; nullopt if no template can make it.
  [[nodiscard]] std::optional<io::Config> config(const GridContent& content,
                                                 const Combination& combination) const;

 private:
  /// Templates of one block.
  struct Family {
    /// Parallel to Combination::settings; without `key` for settings that the templates have already.
    std::vector<Patch> patches;
    /// Axes whose values no patch knows: one template for each combination of them.
    std::vector<std::size_t> axes;
    std::vector<std::optional<io::Config>> configs;
  };
  static Family make_family(const GridContent& content, const Block& block);
  [[nodiscard]] static io::Document document(const GridContent& content, const Block& block,
                                             const Family& family, std::size_t number);

  std::vector<Family> families_;  // [block]; without configs where templates do not help
};

// Samples of a grid: which combination the i-th drawn one is, computed from i and the seed alone. All integers, so that every
// machine draws the same.

/// Output number `n` (from 0) of splitmix64 (Steele, Lea, Flood 2014) seeded with `seed`.
[[nodiscard]] std::uint64_t splitmix64(std::uint64_t seed, std::uint64_t n);

/// A pseudo-random order of 0 .. size-1: at(i) for i = 0 .. size-1 gives each once. Four rounds of a Feistel network over the next even
/// number of bits, keyed by splitmix64, repeated until the result is below `size`: at most four times on average, no memory.
class Permutation {
 public:
  /// REQUIRES: size >= 1.
  Permutation(std::uint64_t seed, std::uint64_t size);
  /// REQUIRES: i < size.
  [[nodiscard]] std::uint64_t at(std::uint64_t i) const;

 private:
  [[nodiscard]] std::uint64_t once(std::uint64_t value) const;

  std::uint64_t seed_;
  std::uint64_t size_;
  int half_ = 1;  ///< bits of one half
};

/// One of `values` values for point `i` of `points` in a Latin hypercube: the points fall into as many equal strata as there are points, one
/// into each, in a pseudo-random order; with fewer values than points, every value comes floor or ceiling of points / values times, with
/// more, one of the stratum's values is drawn. REQUIRES: i < points, values >= 1.
[[nodiscard]] std::uint64_t latin_value(std::uint64_t seed, std::uint64_t i, std::uint64_t points,
                                        std::uint64_t values);

}  // namespace pipeloom::sweep
