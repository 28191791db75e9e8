#pragma once

// Content of a Grid: shared by the files grid_*.cpp; no other file includes it.

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/io/config/config.hpp"
#include "sim/io/config/key.hpp"
#include "sim/io/json/json_value.hpp"
#include "study/sweep/grid/axis.hpp"
#include "study/sweep/grid/grid.hpp"
#include "study/text/expression.hpp"

namespace pipeloom::sweep {

/// Limits that keep hostile grids from costing more than they should; all are far above honest use.
inline constexpr std::size_t kMaxAxes = 64;  ///< of one product, zips included
inline constexpr std::size_t kMaxProductKeys = 256;
inline constexpr std::size_t kMaxProducts = 1000;
inline constexpr std::size_t kMaxDerived = 1000;
inline constexpr std::size_t kMaxNames = 256;  ///< different keys in all expressions

/// Source of the values of a name in expressions, in one block.
struct Source {
  enum class Kind : std::uint8_t {
    AxisKey,   ///< axes[axis].columns[column]
    Derived,   ///< derived[index]
    Constant,  ///< the base says it, or a default
    Chunks,    ///< the default of "chunks": the schedule's
    Absent,    ///< no value; only names that Chunks reads may have none
  };
  // A column that sets a whole object may have the name inside: then inner[i] is its value in list[i].
  Kind kind = Kind::Absent;
  std::size_t axis = 0;
  std::size_t index = 0;  ///< column, or derived key
  Operand constant;
  std::vector<std::optional<Operand>> inner;
};

/// An expression of "derive" or "where".
struct Rule {
  Expression expression;
  Where where;
  std::string name;                ///< of the derived key; "" for a condition
  std::uint32_t key = 0;           ///< of the derived key, in Grid::keys()
  bool is_flag = false;            ///< the key takes true or false
  std::vector<std::size_t> names;  ///< expression.keys()[i] is GridContent::names[names[i]]
};

/// One product of axes; a grid is the union of its blocks.
struct Block {
  std::vector<std::shared_ptr<const Axis>> axes;  ///< the last one is the fastest
  std::uint64_t size = 1;
  std::uint64_t begin = 0;  ///< first combination (of the union, before sampling)
  /// Columns in the order of Grid::keys().
  struct Place {
    std::size_t axis = 0;
    std::size_t column = 0;
  };
  std::vector<Place> places;
  std::vector<Source> sources;  ///< by name
  /// Sum of the hashes of the base's leaves that the block does not set (grid_key.cpp).
  std::uint64_t base_leaves = 0;
};

struct Sample {
  enum class Method : std::uint8_t { Random, Latin };
  Method method = Method::Random;
  std::uint64_t points = 0;
  std::uint64_t seed = 0;
};

/// Positions in GridContent::names of the names on which the default of "chunks" depends.
struct ChunkNames {
  std::size_t schedule = 0;
  std::size_t ranks = 0;
  std::size_t microbatches = 0;
  std::vector<std::pair<const io::Key*, std::size_t>> options;
};

class Templates;

struct GridContent {
  std::string path;
  io::Document base;
  std::vector<std::string> keys;
  std::vector<Block> blocks;
  std::uint64_t total = 0;         ///< combinations of all blocks
  std::uint64_t combinations = 0;  ///< total, or the size of the sample
  std::vector<Rule> derived;       ///< in file order: as keys
  std::vector<std::size_t> derive_order;
  std::vector<Rule> conditions;
  std::vector<std::string> names;  ///< keys that expressions use
  ChunkNames chunk_names;
  std::optional<Sample> sample;
  std::vector<std::string> metrics;
  std::optional<study::ScenarioChoice> scenarios;
  std::string hash;
  std::string axes_json;
  std::string base_json;
  std::shared_ptr<const Templates> templates;
};

/// Position of a combination in the grid.
struct Position {
  const Block* block = nullptr;
  std::array<std::uint64_t, kMaxAxes> digits;  ///< value of every axis of the block
};

/// REQUIRES: index < content.combinations.
void locate(const GridContent& content, std::uint64_t index, Position& out);

/// Resolves the names in expressions, and the order of derived keys. Throws InputError for cycles, unknown keys, and keys without a
/// value. Fills names, derive_order, chunk_names, and the blocks' sources.
void link_rules(GridContent& content);

/// "chunks" by the schedule's own rule, for the ranks, microbatches and options of `config`. Throws InputError where the schedule does not say it.
[[nodiscard]] int default_chunks(const std::string& schedule, const io::Config& config);

/// Fills hash, axes_json, base_json and the blocks' base_leaves.
void add_identity(GridContent& content);

/// Throws InputError for keys that lead through something in the base that has no parts, or outside an array.
void require_paths(const GridContent& content);

/// Sets the combination's values in a copy of the base.
[[nodiscard]] io::Document document_of(const GridContent& content, const Combination& combination);

}  // namespace pipeloom::sweep
