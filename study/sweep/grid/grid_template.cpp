#include "study/sweep/grid/grid_template.hpp"

#include <algorithm>
#include <bit>

#include "study/text/mix.hpp"

namespace pipeloom::sweep {

namespace {

/// More templates of one grid cost more memory than they save time.
constexpr std::size_t kMaxTemplates = 512;

}  // namespace

Templates::Templates(const GridContent& content) {
  std::size_t count = 0;
  for (const Block& block : content.blocks) {
    families_.push_back(make_family(content, block));
    count += families_.back().configs.size();
    if (count > kMaxTemplates) families_.back() = {};
  }
}

Templates::Family Templates::make_family(const GridContent& content, const Block& block) {
  Family out;
  std::vector<bool> is_slow(block.axes.size());
  for (const auto& [axis, index] : block.places)
    if (!find_patch(block.axes[axis]->columns[index].name)) is_slow[axis] = true;
  std::uint64_t count = 1;
  for (std::size_t axis = 0; axis < block.axes.size(); ++axis) {
    if (!is_slow[axis]) continue;
    out.axes.push_back(axis);
    if (block.axes[axis]->size() > kMaxTemplates) return {};
    count *= block.axes[axis]->size();
    if (count > kMaxTemplates) return {};
  }
  for (const auto& [axis, index] : block.places)
    out.patches.push_back(is_slow[axis] ? Patch{} : *find_patch(block.axes[axis]->columns[index].name));
  for (const Rule& rule : content.derived) {
    const auto patch = find_patch(rule.name);
    if (!patch) return {};
    out.patches.push_back(*patch);
  }
  for (std::size_t number = 0; number < count; ++number) {
    auto& config = out.configs.emplace_back();
    try {
      config = io::read_run_config(document(content, block, out, number).root());
    } catch (const InputError&) {
      // Some value is refused, or a key is missing: each of these points says so when it is read.
    }
    if (config && !config->warnings.empty()) config.reset();
  }
  return out;
}

io::Document Templates::document(const GridContent& content, const Block& block, const Family& family,
                                 std::size_t number) {
  io::Document document = content.base;
  std::vector<std::uint64_t> digits(block.axes.size());
  for (auto axis = family.axes.rbegin(); axis != family.axes.rend(); ++axis) {
    digits[*axis] = number % block.axes[*axis]->size();
    number /= block.axes[*axis]->size();
  }
  // The sources are those of document_of(): objects that are made on the way remember them.
  for (std::size_t i = 0; i < block.places.size(); ++i) {
    const auto& [axis, index] = block.places[i];
    const AxisKey& column = block.axes[axis]->columns[index];
    const std::string& source = column.range ? content.path : column.where.file;
    if (family.patches[i].key != nullptr)
      document.set(column.name, family.patches[i].placeholder(), source);
    else if (column.range)
      document.set(column.name, nano_text(column.range->value(digits[axis])), source);
    else
      document.set(column.name, column.list[digits[axis]].value, source);
  }
  for (std::size_t i = 0; i < content.derived.size(); ++i)
    document.set(content.derived[i].name, family.patches[block.places.size() + i].placeholder(),
                 content.path);
  return document;
}

std::optional<io::Config> Templates::config(const GridContent& content,
                                            const Combination& combination) const {
  Position at;
  locate(content, combination.index, at);
  const Block& block = *at.block;
  const Family& family = families_[static_cast<std::size_t>(at.block - content.blocks.data())];
  if (family.configs.empty()) return std::nullopt;
  std::size_t number = 0;
  for (const std::size_t axis : family.axes) number = number * block.axes[axis]->size() + at.digits[axis];
  std::optional<io::Config> out = family.configs[number];
  const Where calculated{content.path};
  for (std::size_t i = 0; out && i < family.patches.size(); ++i) {
    const Patch& patch = family.patches[i];
    if (patch.key == nullptr) continue;
    const std::string& json = combination.settings[i].json;
    bool known = false;
    if (i < block.places.size()) {
      const auto& [axis, index] = block.places[i];
      const AxisKey& column = block.axes[axis]->columns[index];
      known = patch.apply(*out, json, column.range ? calculated : column.list[at.digits[axis]].value.where());
    } else {
      known = patch.apply(*out, json, calculated);
    }
    if (!known) out.reset();
  }
  return out;
}

namespace {

__extension__ using Wide = unsigned __int128;

constexpr int kRounds = 4;

/// floor(a * b / c). REQUIRES: c >= 1, and the result fits.
std::uint64_t scaled(std::uint64_t a, std::uint64_t b, std::uint64_t c) {
  // NOLINTNEXTLINE(clang-analyzer-core.DivideZero): c counts points, and there is one
  return static_cast<std::uint64_t>(static_cast<Wide>(a) * b / c);
}

}  // namespace

std::uint64_t splitmix64(std::uint64_t seed, std::uint64_t n) {
  return mixed(seed + (n + 1) * kMixStep);
}

Permutation::Permutation(std::uint64_t seed, std::uint64_t size) : seed_(seed), size_(size) {
  const int bits = size <= 1 ? 1 : static_cast<int>(std::bit_width(size - 1));
  half_ = (bits + 1) / 2;
}

std::uint64_t Permutation::once(std::uint64_t value) const {
  const std::uint64_t mask = (std::uint64_t{1} << half_) - 1;
  std::uint64_t left = value >> half_;
  std::uint64_t right = value & mask;
  for (int round = 0; round < kRounds; ++round) {
    const std::uint64_t key = splitmix64(seed_, static_cast<std::uint64_t>(round));
    const std::uint64_t next = left ^ (mixed(right ^ key) & mask);
    left = right;
    right = next;
  }
  return (left << half_) | right;
}

std::uint64_t Permutation::at(std::uint64_t i) const {
  do i = once(i);
  while (i >= size_);
  return i;
}

std::uint64_t latin_value(std::uint64_t seed, std::uint64_t i, std::uint64_t points, std::uint64_t values) {
  const std::uint64_t stratum = Permutation(seed, points).at(i);
  if (values <= points) return scaled(stratum, values, points);
  const std::uint64_t first = scaled(stratum, values, points);
  const std::uint64_t last = stratum + 1 == points ? values : scaled(stratum + 1, values, points);
  const std::uint64_t drawn = splitmix64(~seed, i);
  return first + static_cast<std::uint64_t>((static_cast<Wide>(drawn) * (last - first)) >> 64);
}

}  // namespace pipeloom::sweep
