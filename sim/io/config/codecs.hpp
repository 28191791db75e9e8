#pragma once

// Codecs: how values of one kind are read, written and patched, and their form.

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "sim/io/config/config.hpp"
#include "sim/io/config/value_reading.hpp"
#include "sim/io/json/text_writer.hpp"

namespace pipeloom::io {

/// A JSON number of 0 or more that is exact in units of 1/scale, or nothing.
[[nodiscard]] std::optional<std::int64_t> exact_number(std::string_view json, std::int64_t scale);

namespace codec {

/// Decimal numbers in units of 1e-9 are written like times of the abstract unit.
inline constexpr TimeUnit kNano = TimeUnit::Unit;

/// Arguments of a write or a patch, other than the member.
struct Context {
  const KeyRow& row;
  TimeUnit unit;
  /// Place of the value that a patch stores.
  Where where = {};
};

/// One number: the member is the number, or an optional of it. `Self` has parse(Value, ReadContext), print(out, number, unit) and
/// exact(json, Context).
template <class Self, class Number>
struct Scalar {
  template <class Member>
  static constexpr bool kStores =
      std::is_same_v<Member, Number> || std::is_same_v<Member, std::optional<Number>>;
  static constexpr bool kPatchesWhole = true;
  static constexpr bool kPatchesEntries = false;

  template <class Member>
  static void read(Member& member, const Value& value, const ReadContext& context) {
    member = Self::parse(value, context);
  }
  static bool has(const Number&) { return true; }
  static bool has(const std::optional<Number>& member) { return member.has_value(); }
  static void write(TextWriter& out, const Number& number, const Context& context) {
    Self::print(out, number, context.unit);
  }
  static void write(TextWriter& out, const std::optional<Number>& member, const Context& context) {
    Self::print(out, *member, context.unit);
  }
  template <class Member>
  static bool patch(Member& member, std::size_t index, std::string_view json, const Context& context) {
    const auto number = index == kWhole ? Self::exact(json, context) : std::nullopt;
    if (number) member = static_cast<Number>(*number);
    return number.has_value();
  }
  static std::size_t hash(const Number& number) { return static_cast<std::size_t>(number); }
  static std::size_t hash(const std::optional<Number>& member) {
    return static_cast<std::size_t>(member.value_or(Number(-1)));
  }
};

struct Count : Scalar<Count, int> {
  static const Form kForm;
  static constexpr KeyType kType = KeyType::Count;
  static int parse(const Value& value, const ReadContext& context) {
    return static_cast<int>(count_of(value, context));
  }
  static void print(TextWriter& out, int number, TimeUnit) { out << number; }
  static std::optional<std::int64_t> exact(std::string_view json, const Context& context) {
    const auto number = exact_number(json, 1);
    return number && *number >= context.row.minimum && *number <= context.row.maximum ? number : std::nullopt;
  }
};

struct Time : Scalar<Time, Ticks> {
  static const Form kForm;
  static constexpr KeyType kType = KeyType::Time;
  static Ticks parse(const Value& value, const ReadContext& context) {
    return time_of(value, context.key.path, context);
  }
  static void print(TextWriter& out, Ticks ticks, TimeUnit unit) { out.ticks(ticks, unit); }
  static std::optional<std::int64_t> exact(std::string_view json, const Context& context) {
    return exact_number(json, ticks_per(context.unit));
  }
};

struct Bytes : Scalar<Bytes, pipeloom::Bytes> {
  static const Form kForm;
  static constexpr KeyType kType = KeyType::Bytes;
  static pipeloom::Bytes parse(const Value& value, const ReadContext& context) {
    return bytes_of(value, context.key.path, context);
  }
  static void print(TextWriter& out, pipeloom::Bytes bytes, TimeUnit) { out << bytes; }
  static std::optional<std::int64_t> exact(std::string_view json, const Context&) {
    return exact_number(json, 1);
  }
};

struct Decimal : Scalar<Decimal, std::int64_t> {
  static const Form kForm;
  static constexpr KeyType kType = KeyType::Decimal;
  static std::optional<std::int64_t> parse(const Value& value, const ReadContext& context) {
    return positive_decimal_of(value, context);
  }
  static void print(TextWriter& out, std::int64_t number, TimeUnit) { out.ticks(number, kNano); }
  static std::optional<std::int64_t> exact(std::string_view json, const Context&) {
    const auto number = exact_number(json, kUnitScale);
    return number != 0 ? number : std::nullopt;
  }
};

/// A number from 0 to 1.
struct Share : Scalar<Share, std::int64_t> {
  static const Form kForm;
  static constexpr KeyType kType = KeyType::Decimal;
  static std::int64_t parse(const Value& value, const ReadContext& context) {
    return share_of(value, context);
  }
  static void print(TextWriter& out, std::int64_t number, TimeUnit) { out.ticks(number, kNano); }
  static std::optional<std::int64_t> exact(std::string_view json, const Context&) {
    const auto number = exact_number(json, kUnitScale);
    return number && *number <= kUnitScale ? number : std::nullopt;
  }
};

/// For members that patches leave alone.
struct Unpatched {
  static constexpr bool kPatchesWhole = false;
  static constexpr bool kPatchesEntries = false;
};

struct Text {
  static const Form kForm;
  static constexpr KeyType kType = KeyType::Text;
  static constexpr bool kPatchesWhole = true;
  static constexpr bool kPatchesEntries = false;
  template <class Member>
  static constexpr bool kStores = std::is_same_v<Member, std::string>;
  static void read(std::string& member, const Value& value, const ReadContext& context) {
    member = text_of(value, context);
  }
  static bool has(const std::string& member) { return !member.empty(); }
  static void write(TextWriter& out, const std::string& member, const Context&) { out.quoted(member); }
  static bool patch(std::string& member, std::size_t index, std::string_view json, const Context&);
  static std::size_t hash(const std::string& member) { return std::hash<std::string>()(member); }
};

/// One of the row's choices: the member is an enum in their order, or the word.
struct Choice : Unpatched {
  static const Form kForm;
  static constexpr KeyType kType = KeyType::Choice;
  template <class Member>
  static constexpr bool kStores = std::is_enum_v<Member> || std::is_same_v<Member, std::string>;
  template <class Member>
  static void read(Member& member, const Value& value, const ReadContext& context) {
    const std::size_t place = choice_of(value, context);
    if constexpr (std::is_enum_v<Member>)
      member = static_cast<Member>(place);
    else
      member = value.text();
  }
  static bool has(const auto&) { return true; }
  static void write(TextWriter& out, const std::string& word, const Context&) { out.quoted(word); }
  template <class Member>
  requires std::is_enum_v<Member>
  static void write(TextWriter& out, Member member, const Context& context) {
    out.quoted(choice_at(context.row, static_cast<std::size_t>(member)));
  }
  static std::size_t hash(const auto& member) { return static_cast<std::size_t>(member); }
  static std::string_view choice_at(const KeyRow& row, std::size_t place);
};

struct Flag : Unpatched {
  static const Form kForm;
  static constexpr KeyType kType = KeyType::Flag;
  template <class Member>
  static constexpr bool kStores = std::is_same_v<Member, bool>;
  static void read(bool& member, const Value& value, const ReadContext& context);
  static bool has(bool) { return true; }
  static void write(TextWriter& out, bool member, const Context&) { out << (member ? "true" : "false"); }
  static std::size_t hash(bool member) { return member ? 1 : 0; }
};

/// One number per stage.
struct StageNumbers {
  static constexpr bool kPatchesWhole = true;
  static constexpr bool kPatchesEntries = true;
  template <class Member>
  static constexpr bool kStores =
      std::is_same_v<Member, cost::StageNumbers> || std::is_same_v<Member, std::optional<cost::StageNumbers>>;
  static bool has(const cost::StageNumbers&) { return true; }
  static bool has(const std::optional<cost::StageNumbers>& member) { return member.has_value(); }

 protected:
  static const cost::StageNumbers* in(const cost::StageNumbers& member) { return &member; }
  static const cost::StageNumbers* in(const std::optional<cost::StageNumbers>& member) {
    return member ? &*member : nullptr;
  }
  static cost::StageNumbers* in(cost::StageNumbers& member) { return &member; }
  static cost::StageNumbers* in(std::optional<cost::StageNumbers>& member) {
    return member ? &*member : nullptr;
  }
  static bool patch_in(cost::StageNumbers* numbers, std::size_t index, std::string_view json,
                       std::int64_t scale, const Where& where);
};

struct StageTimes : StageNumbers {
  static const Form kForm;
  static constexpr KeyType kType = KeyType::TimeTable;
  static void read(auto& member, const Value& value, const ReadContext& context) {
    member = stage_numbers_of(value, context, true);
  }
  static void write(TextWriter& out, const auto& member, const Context& context) {
    write_in(out, *in(member), context.unit);
  }
  static bool patch(auto& member, std::size_t index, std::string_view json, const Context& context) {
    return patch_in(in(member), index, json, ticks_per(context.unit), context.where);
  }

 private:
  static void write_in(TextWriter& out, const cost::StageNumbers& numbers, TimeUnit unit);
};

struct StageBytes : StageNumbers {
  static const Form kForm;
  static constexpr KeyType kType = KeyType::BytesTable;
  static void read(auto& member, const Value& value, const ReadContext& context) {
    member = stage_numbers_of(value, context, false);
  }
  static void write(TextWriter& out, const auto& member, const Context&) { write_in(out, *in(member)); }
  static bool patch(auto& member, std::size_t index, std::string_view json, const Context& context) {
    return patch_in(in(member), index, json, 1, context.where);
  }

 private:
  static void write_in(TextWriter& out, const cost::StageNumbers& numbers);
};

/// Codecs of one type each.
template <class Stored>
struct One {
  template <class Member>
  static constexpr bool kStores = std::is_same_v<Member, Stored>;
};

struct Overlapped : One<std::optional<cost::OverlapSpec>>, Unpatched {
  using Member = std::optional<cost::OverlapSpec>;
  static const Form kForm;
  static constexpr KeyType kType = KeyType::Overlapped;
  static void read(Member& member, const Value& value, const ReadContext& context);
  static bool has(const Member& member) { return member.has_value(); }
  static void write(TextWriter& out, const Member& member, const Context& context);
};

struct Limit : One<std::optional<cost::LimitSpec>> {
  static constexpr bool kPatchesWhole = true;
  static constexpr bool kPatchesEntries = false;
  using Member = std::optional<cost::LimitSpec>;
  static const Form kForm;
  static constexpr KeyType kType = KeyType::Limit;
  static void read(Member& member, const Value& value, const ReadContext& context);
  static bool has(const Member&) { return true; }
  static void write(TextWriter& out, const Member& member, const Context&);
  static bool patch(Member& member, std::size_t index, std::string_view json, const Context& context);
};

struct Scales : One<cost::ScaleSpec> {
  static const Form kForm;
  static constexpr KeyType kType = KeyType::Scales;
  static constexpr bool kPatchesWhole = false;
  static constexpr bool kPatchesEntries = true;
  static void read(cost::ScaleSpec& member, const Value& value, const ReadContext& context) {
    member = scales_of(value, context);
  }
  static bool has(const cost::ScaleSpec& member) { return !member.array.empty(); }
  static void write(TextWriter& out, const cost::ScaleSpec& member, const Context&);
  static bool patch(cost::ScaleSpec& member, std::size_t index, std::string_view json, const Context&);
};

struct GroupSize : One<std::optional<pipeloom::GroupSize>> {
  using Member = std::optional<pipeloom::GroupSize>;
  static const Form kForm;
  static constexpr KeyType kType = KeyType::GroupSize;
  static constexpr bool kPatchesWhole = true;
  static constexpr bool kPatchesEntries = false;
  static void read(Member& member, const Value& value, const ReadContext& context);
  static bool has(const Member& member) { return member.has_value(); }
  static void write(TextWriter& out, const Member& member, const Context&) { out << member->text(); }
  static bool patch(Member& member, std::size_t index, std::string_view json, const Context& context);
  static std::size_t hash(const Member& member);
};

struct Slices : One<std::vector<std::int64_t>>, Unpatched {
  using Member = std::vector<std::int64_t>;
  static const Form kForm;
  static constexpr KeyType kType = KeyType::Slices;
  static void read(Member& member, const Value& value, const ReadContext& context);
  static bool has(const Member& member) { return !member.empty(); }
  static void write(TextWriter& out, const Member& member, const Context&);
  static std::size_t hash(const Member& member);
};

/// A whole number for each stage that costs were measured on.
struct Counts : One<cost::StageCounts>, Unpatched {
  static const Form kForm;
  static constexpr KeyType kType = KeyType::Counts;
  static void read(cost::StageCounts& member, const Value& value, const ReadContext& context);
  static bool has(const cost::StageCounts& member) { return !member.counts.empty(); }
  static void write(TextWriter& out, const cost::StageCounts& member, const Context&);
};

/// Lengths of packed documents: one list for all microbatches, or a list for each.
struct Documents : One<cost::DocumentLists>, Unpatched {
  static const Form kForm;
  static constexpr KeyType kType = KeyType::Documents;
  static void read(cost::DocumentLists& member, const Value& value, const ReadContext& context);
  static bool has(const cost::DocumentLists& member) { return !member.lists.empty(); }
  static void write(TextWriter& out, const cost::DocumentLists& member, const Context&);
};

/// Costs of single ops: times or factors, or a table of times, which may be a file.
struct Rows : One<cost::CostRows>, Unpatched {
  static constexpr KeyType kType = KeyType::Rows;
  static bool has(const cost::CostRows& member) { return member != nullptr && !member->empty(); }
  static void write(TextWriter& out, const cost::CostRows& member, const Context& context);
};
struct Exceptions : Rows {
  static const Form kForm;
  static void read(cost::CostRows& member, const Value& value, const ReadContext& context);
};
struct Table : Rows {
  static const Form kForm;
  static void read(cost::CostRows& member, const Value& value, const ReadContext& context);
};

/// Variation of durations. The member is the whole CostSpec, which keeps the place too.
struct Noise : One<cost::CostSpec>, Unpatched {
  static const Form kForm;
  static constexpr KeyType kType = KeyType::Noise;
  static void read(cost::CostSpec& member, const Value& value, const ReadContext& context);
  static bool has(const cost::CostSpec& member) { return member.noise.has_value(); }
  static void write(TextWriter& out, const cost::CostSpec& member, const Context& context);
};

/// Links that differ. The member is the whole TransferSpec: they are lists and matrices of it.
struct Links : One<cost::TransferSpec>, Unpatched {
  static const Form kForm;
  static constexpr KeyType kType = KeyType::Links;
  static void read(cost::TransferSpec& member, const Value& value, const ReadContext& context);
  static bool has(const cost::TransferSpec& member) { return member.has_links(); }
  static void write(TextWriter& out, const cost::TransferSpec& member, const Context& context);
};

/// A word, or an object whose keys have rows of their own.
struct Recompute : One<RecomputeOption>, Unpatched {
  static const Form kForm;
  static constexpr KeyType kType = KeyType::Recompute;
  static constexpr bool kIsGroup = true;
  static void read(RecomputeOption& member, const Value& value, const ReadContext& context);
  static bool has(const RecomputeOption& member) { return member.on || !member.modules.empty(); }
  static std::string_view word(const RecomputeOption& member) { return member.on ? "full" : "none"; }
  static std::size_t hash(const RecomputeOption& member) { return member.on ? 1 : 0; }
};
/// Modules to recompute: words separated by commas.
struct RecomputeModules : One<std::string>, Unpatched {
  static const Form kForm;
  static constexpr KeyType kType = KeyType::Text;
  static void read(std::string& member, const Value& value, const ReadContext& context);
  static bool has(const std::string& member) { return !member.empty(); }
  static void write(TextWriter& out, const std::string& member, const Context&) { out.quoted(member); }
  static std::size_t hash(const std::string& member) { return std::hash<std::string>()(member); }
};
/// Parts of a model that are trained: "all", "none", or words separated by commas.
struct TrainableParts : One<std::string>, Unpatched {
  static const Form kForm;
  static constexpr KeyType kType = KeyType::Text;
  static void read(std::string& member, const Value& value, const ReadContext& context);
  static bool has(const std::string& member) { return !member.empty(); }
  static void write(TextWriter& out, const std::string& member, const Context&) { out.quoted(member); }
};
/// Stages that an option is for, in order, each once.
struct Stages : One<std::vector<int>>, Unpatched {
  using Member = std::vector<int>;
  static const Form kForm;
  static constexpr KeyType kType = KeyType::Counts;
  static void read(Member& member, const Value& value, const ReadContext& context);
  static bool has(const Member& member) { return !member.empty(); }
  static void write(TextWriter& out, const Member& member, const Context&);
  static std::size_t hash(const Member& member);
};
struct Offload : One<OffloadOption>, Unpatched {
  static const Form kForm;
  static constexpr KeyType kType = KeyType::Offload;
  static constexpr bool kIsGroup = true;
  static void read(OffloadOption& member, const Value& value, const ReadContext& context);
  static bool has(const OffloadOption& member) { return member.on; }
  static std::string_view word(const OffloadOption& member) { return member.on ? "all" : "none"; }
  static std::size_t hash(const OffloadOption& member) { return member.on ? 1 : 0; }
};

template <class Codec>
inline constexpr bool is_group = requires {
  Codec::kIsGroup;
};

/// Form of keys that hold further keys.
extern const Form kGroupForm;

}  // namespace codec

}  // namespace pipeloom::io
