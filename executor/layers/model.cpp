#include "executor/layers/model.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <numeric>
#include <string_view>
#include <utility>

#include <pipeloom/error.hpp>

namespace pipeloom::executor {
namespace {

constexpr std::int64_t kExactLimit = std::int64_t{1} << 24;
constexpr int kLargestInput = 3;

enum class Use : std::uint64_t { Weights = 1, Input = 2, Target = 3 };

/// Numbers by position, without a state that would depend on the order of calls. The mixing is that of splitmix64
/// (Steele, Lea and Flood 2014), which is fixed to the bit, unlike the distributions of the standard library.
class Numbers {
 public:
  Numbers(std::uint64_t seed, Use use, std::size_t which)
      : base_(mix(mix(seed) + (static_cast<std::uint64_t>(use) << 48) + which)) {}

  /// Uniform in [-1, 1), a multiple of 2^-23.
  [[nodiscard]] float uniform(std::size_t i) const {
    const auto bits = static_cast<std::int32_t>(at(i) >> 40);
    return static_cast<float>(bits - (1 << 23)) / static_cast<float>(1 << 23);
  }
  /// An integer of -limit .. limit.
  [[nodiscard]] float integer(std::size_t i, int limit) const {
    return static_cast<float>(static_cast<int>(below(i, 2 * static_cast<std::size_t>(limit) + 1)) - limit);
  }
  /// An integer of 0 .. count - 1.
  [[nodiscard]] std::size_t below(std::size_t i, std::size_t count) const { return (at(i) >> 32) % count; }

 private:
  static std::uint64_t mix(std::uint64_t value) {
    value += 0x9E3779B97F4A7C15ULL;
    value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9ULL;
    value = (value ^ (value >> 27)) * 0x94D049BB133111EBULL;
    return value ^ (value >> 31);
  }
  [[nodiscard]] std::uint64_t at(std::size_t i) const { return mix(base_ + i * 0x9E3779B97F4A7C15ULL); }

  std::uint64_t base_;
};

/// Uniform with variance 1 / inputs, so that activations keep their size from layer to layer.
void fill_float(const BlockShape& shape, const Numbers& numbers, std::span<float> all) {
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = numbers.uniform(i) * 0.1F;
  const BlockParameters<float> p(shape, all);
  for (float& gain : p.gain) gain += 1.0F;
  for (float& weight : p.w1) weight *= 10.0F * std::sqrt(3.0F / static_cast<float>(shape.width));
  for (float& weight : p.w2) weight *= 10.0F * std::sqrt(3.0F / static_cast<float>(shape.hidden));
  if (shape.heads == 0) return;
  const AttentionParameters<float> attention(shape.width, all.subspan(shape.linear_parameters()));
  for (float& gain : attention.gain) gain += 1.0F;
  for (const std::span<float> weights : {attention.wqkv, attention.wo})
    for (float& weight : weights) weight *= 10.0F * std::sqrt(3.0F / static_cast<float>(shape.width));
}

/// The signed permutations that require_possible() describes.
void fill_integer(const BlockShape& shape, const Numbers& numbers, std::span<float> all) {
  const BlockParameters<float> p(shape, all);
  const std::size_t width = shape.width;
  std::vector<std::size_t> from(width);
  std::iota(from.begin(), from.end(), std::size_t{0});
  for (std::size_t i = width; i > 1; --i) std::swap(from[i - 1], from[numbers.below(i, i)]);
  for (std::size_t column = 0; column < width; ++column) {
    const float sign = numbers.below(width + column + 1, 2) == 0 ? 1.0F : -1.0F;
    const std::array<float, 4> in = {sign, -sign, 1.0F, -1.0F};
    const std::array<float, 4> out = {1.0F, -1.0F, -1.0F, 1.0F};
    for (std::size_t part = 0; part < 4; ++part) {
      const std::size_t row = part < 2 ? from[column] : column;
      p.w1[row * shape.hidden + part * width + column] = in[part];
      p.w2[(part * width + column) * width + column] = out[part];
    }
    p.b2[column] = numbers.integer(2 * width + column + 1, 1);
  }
}

Tensor rows_of(const LayersConfig& config, Use use, Microbatch microbatch, RowRange rows) {
  const Numbers numbers(config.seed, use, microbatch.at());
  const auto width = static_cast<std::size_t>(config.width);
  Tensor out(rows.size() * width);
  for (std::size_t i = 0; i < out.size(); ++i) {
    const std::size_t at = rows.first * width + i;
    out[i] = config.arithmetic == Arithmetic::Integer ? numbers.integer(at, kLargestInput)
                                                      : numbers.uniform(at) * 1.5F;
  }
  return out;
}

void require_heads(const LayersConfig& config) {
  if (config.heads < 0)
    throw InputError(fmt::format("layers: heads is {}; it must be at least 0", config.heads));
  if (config.heads == 0) return;
  if (config.width % config.heads != 0)
    throw InputError(fmt::format("layers: heads is {}; allowed is a divisor of width, {}, or 0", config.heads,
                                 config.width));
  if (config.arithmetic == Arithmetic::Integer)
    throw InputError(fmt::format(
        "integer layers: heads is {}, but a softmax is not exact on integers; give 0 heads, or take floats",
        config.heads));
}

void require_exact(const LayersConfig& config, const PipelineSizes& sizes) {
  if (config.hidden < 4 * static_cast<std::int64_t>(config.width))
    throw InputError(
        fmt::format("integer layers: hidden is {}, width {}; hidden must be at least 4 width, {}",
                    config.hidden, config.width, 4 * static_cast<std::int64_t>(config.width)));
  const double blocks = static_cast<double>(sizes.stages) * config.blocks;
  const double terms = static_cast<double>(config.rows) * sizes.microbatches;
  const double largest = terms * (kLargestInput + blocks) * (2 * kLargestInput + blocks);
  if (largest > static_cast<double>(kExactLimit))
    throw InputError(fmt::format(
        "integer layers: sums of {:.0f} rows behind {:.0f} blocks may reach {:.0f}, more than {} is not "
        "exact in single precision; take fewer rows, microbatches, stages or blocks",
        terms, blocks, largest, kExactLimit));
}

std::span<const float> block_of(const BlockShape& shape, std::span<const float> all, std::size_t block) {
  return all.subspan(block * shape.parameters(), shape.parameters());
}

/// The keys of all slices up to that of the pass; empty without attention.
std::span<SliceKeys> keys_of(const BlockShape& shape, Attended attended, std::size_t block) {
  if (shape.heads == 0) return {};
  return std::span((*attended.keys)[block]).first(static_cast<std::size_t>(attended.slice) + 1);
}

}  // namespace

void require_possible(const LayersConfig& config, const PipelineSizes& sizes) {
  const std::array<std::pair<std::string_view, int>, 4> all = {
      {{"width", config.width}, {"hidden", config.hidden}, {"rows", config.rows}, {"blocks", config.blocks}}};
  for (const auto& [name, value] : all)
    if (value < 1) throw InputError(fmt::format("layers: {} is {}; it must be at least 1", name, value));
  require_heads(config);
  if (config.rows < sizes.slices)
    throw InputError(
        fmt::format("layers: a microbatch of {} rows cannot be cut into {} slices; give it more rows",
                    config.rows, sizes.slices));
  if (config.arithmetic == Arithmetic::Integer) require_exact(config, sizes);
}

RowRange rows_of_slice(const LayersConfig& config, int slice, int slices) {
  const auto cut = [&](int at) {
    return static_cast<std::size_t>(static_cast<std::int64_t>(at) * config.rows / slices);
  };
  return {cut(slice), cut(slice + 1)};
}

std::vector<float> stage_parameters(const LayersConfig& config, Stage stage) {
  const BlockShape shape = config.block();
  const auto blocks = static_cast<std::size_t>(config.blocks);
  std::vector<float> all(blocks * shape.parameters());
  for (std::size_t block = 0; block < blocks; ++block) {
    const Numbers numbers(config.seed, Use::Weights, stage.at() * blocks + block);
    const std::span<float> own = std::span(all).subspan(block * shape.parameters(), shape.parameters());
    if (config.arithmetic == Arithmetic::Integer)
      fill_integer(shape, numbers, own);
    else
      fill_float(shape, numbers, own);
  }
  return all;
}

Tensor input_rows(const LayersConfig& config, Microbatch microbatch, RowRange rows) {
  return rows_of(config, Use::Input, microbatch, rows);
}

Tensor target_rows(const LayersConfig& config, Microbatch microbatch, RowRange rows) {
  return rows_of(config, Use::Target, microbatch, rows);
}

StageKeys no_keys_yet(const LayersConfig& config, int slices) {
  if (config.heads == 0) return {};
  return StageKeys(static_cast<std::size_t>(config.blocks),
                   std::vector<SliceKeys>(static_cast<std::size_t>(slices)));
}

Tensor stage_forward(const LayersConfig& config, std::span<const float> parameters, Tensor x,
                     std::vector<BlockTape>& tapes, Attended attended) {
  const BlockShape shape = config.block();
  tapes.resize(static_cast<std::size_t>(config.blocks));
  for (std::size_t block = 0; block < tapes.size(); ++block)
    x = block_forward(shape, block_of(shape, parameters, block), std::move(x), tapes[block],
                      keys_of(shape, attended, block));
  return x;
}

Tensor stage_input_gradient(const LayersConfig& config, std::span<const float> parameters, Tensor e,
                            std::vector<BlockTape>& tapes, Attended attended) {
  const BlockShape shape = config.block();
  for (std::size_t block = tapes.size(); block-- > 0;)
    e = block_input_gradient(shape, block_of(shape, parameters, block), std::move(e), tapes[block],
                             keys_of(shape, attended, block));
  return e;
}

void stage_weight_gradient(const LayersConfig& config, std::vector<BlockTape>& tapes,
                           std::span<float> gradient) {
  const BlockShape shape = config.block();
  for (; !tapes.empty(); tapes.pop_back())
    block_weight_gradient(shape, tapes.back(),
                          gradient.subspan((tapes.size() - 1) * shape.parameters(), shape.parameters()));
}

Tensor stage_backward(const LayersConfig& config, std::span<const float> parameters, Tensor e,
                      std::vector<BlockTape>& tapes, std::span<float> gradient, Attended attended) {
  const BlockShape shape = config.block();
  for (; !tapes.empty(); tapes.pop_back()) {
    const std::size_t block = tapes.size() - 1;
    e = block_input_gradient(shape, block_of(shape, parameters, block), std::move(e), tapes.back(),
                             keys_of(shape, attended, block));
    block_weight_gradient(shape, tapes.back(),
                          gradient.subspan(block * shape.parameters(), shape.parameters()));
  }
  return e;
}

double squared_error(Tensor& y, std::span<const float> target) {
  double sum = 0.0;
  for (std::size_t i = 0; i < y.size(); ++i) {
    y[i] -= target[i];
    sum += static_cast<double>(y[i]) * static_cast<double>(y[i]);
  }
  return sum / 2;
}

bool may_go_forward(const StageKeys& keys, int slice) {
  return slice == 0 || !keys.front()[static_cast<std::size_t>(slice) - 1].keys.empty();
}

bool may_go_backward(const StageKeys& keys, int slice) {
  const std::vector<SliceKeys>& slices = keys.front();
  const auto own = static_cast<std::size_t>(slice);
  return own + 1 == slices.size() || (slices[own + 1].keys.empty() && !slices[own].key_gradient.empty());
}

std::size_t bytes_up_to(const StageKeys& keys, int slice) {
  std::size_t bytes = 0;
  for (const std::vector<SliceKeys>& block : keys)
    for (std::size_t i = 0; i <= static_cast<std::size_t>(slice); ++i)
      for_each_key_tensor(block[i], [&](const Tensor& tensor) { bytes += tensor.size() * sizeof(float); });
  return bytes;
}

void discard_all(StageKeys& keys) {
  for (std::vector<SliceKeys>& block : keys)
    for (SliceKeys& slice : block) for_each_key_tensor(slice, discard);
}

}  // namespace pipeloom::executor
