#include "sim/dependencies.hpp"

#include "sim/base/table_size.hpp"
#include "sim/tensor_index.hpp"

namespace pipeloom {
namespace {

constexpr std::uint32_t kNoOp = ~std::uint32_t{0};

}  // namespace

std::string_view name_of(DependencyKind kind) {
  constexpr std::array<std::string_view, 6> kNames = {"queue", "activation", "gradient",
                                                      "slice", "reload",     "sum over stages"};
  return kNames[static_cast<std::size_t>(kind)];
}

Dependencies::Dependencies(const Schedule& schedule)
    : schedule_(&schedule), turning_(turning_kind(schedule)) {
  int tables = 0;
  for (const OpKind kind : kAllOpKinds) table_of_[index_of(kind)] = schedule_->contains(kind) ? tables++ : -1;
  const auto units = static_cast<std::size_t>(schedule_->units());
  const auto stages = static_cast<std::size_t>(schedule_->stages());
  index_.assign(table_size(tables, stages, units), kNoOp);
  for (std::size_t i = 0; i < schedule_->num_ops(); ++i) {
    const Op op = schedule_->ops()[i];
    const auto table = static_cast<std::size_t>(table_of_[index_of(op.kind())]);
    index_[(table * stages + op.stage().at()) * units + schedule_->unit_of(op)] =
        static_cast<std::uint32_t>(i);
  }
}

std::size_t Dependencies::find(Op op) const {
  if (op.stage().value() >= schedule_->stages() || op.microbatch().value() >= schedule_->microbatches() ||
      op.is_sliced() != (schedule_->slices() > 1))
    return kNone;
  return find(op.kind(), op.stage().value(), op, op.slice());
}

std::size_t Dependencies::find(OpKind kind, std::int32_t stage, Op like, int slice) const {
  const int table = table_of_[index_of(kind)];
  if (table < 0 || stage < 0 || stage >= schedule_->stages() || slice < 0 || slice >= schedule_->slices())
    return kNone;
  const auto units = static_cast<std::size_t>(schedule_->units());
  const std::size_t unit = like.microbatch().at() * static_cast<std::size_t>(schedule_->slices()) +
                           static_cast<std::size_t>(slice);
  const std::size_t row = static_cast<std::size_t>(table) * static_cast<std::size_t>(schedule_->stages()) +
                          static_cast<std::size_t>(stage);
  const std::uint32_t index = index_[row * units + unit];
  return index == kNoOp ? kNone : index;
}

void Dependencies::add(List& out, OpKind kind, std::int32_t stage, Op like, int slice,
                       DependencyKind why) const {
  const std::size_t index = find(kind, stage, like, slice);
  if (index != kNone) out.push_back({index, why});
}

void Dependencies::add_makers(List& out, TensorKind tensor, std::int32_t stage, Op like, int slice,
                              DependencyKind why) const {
  for (const KindRow& row : kKinds)
    if (row.makes.tensor == tensor) add(out, row.kind, stage, like, slice, why);
}

void Dependencies::add_all(List& out, OpKind kind, Op like) const {
  for (std::int32_t stage = 0; stage < schedule_->stages(); ++stage)
    add(out, kind, stage, like, like.slice(), DependencyKind::Sum);
}

/// Adds the ops that wait for the last stage's activation, for S or for T beyond the op's own stage.
void Dependencies::add_readers(List& out, Op op) const {
  const std::int32_t last = schedule_->stages() - 1;
  if (op.kind() == OpKind::Forward && op.stage().value() == last)
    for (std::int32_t stage = 0; stage < schedule_->stages(); ++stage)
      add(out, OpKind::Output, stage, op, op.slice(), DependencyKind::Activation);
  if (op.kind() == OpKind::Output) add_all(out, OpKind::OutputWeight, op);
  if (op.kind() != turning_) return;
  for (const KindRow& row : kKinds)
    if (carries_gradient(row.kind)) add(out, row.kind, last, op, op.slice(), DependencyKind::Sum);
}

namespace {

DependencyKind kind_of_use(TensorKind tensor) {
  return tensor == TensorKind::Gradient ? DependencyKind::Gradient : DependencyKind::Activation;
}

/// The kind of result that an op of the same pass gives to its users.
DependencyKind kind_from(const KindRow& used) {
  return kAwaitedCopies.has(used.kind) ? DependencyKind::Reload : kind_of_use(used.makes.tensor);
}

/// Slices attend to earlier slices, and go backward after later ones.
int slice_before(const KindRow& row) {
  return step_to(row.waits_for.stage);
}

}  // namespace

std::vector<Dependency> Dependencies::needs(Op op) const {
  List out;
  const KindRow& row = row_of(op.kind());
  const std::int32_t stage = op.stage().value();
  const std::int32_t last = schedule_->stages() - 1;
  const bool turns = schedule_->shares_output() && carries_gradient(op.kind()) && stage == last;
  if (const int step = step_to_producer(op.kind()); step != 0)
    add_makers(out, row.waits_for.tensor, stage + step, op, op.slice(), kind_of_use(row.waits_for.tensor));
  if (row.waits_for.stage == At::Last)
    add(out, OpKind::Forward, last, op, op.slice(), DependencyKind::Activation);
  if (row.waits_for.stage == At::All) add_all(out, OpKind::Output, op);
  if (turns) add_all(out, turning_, op);
  for (const OpKind used : row.uses) add(out, used, stage, op, op.slice(), kind_from(row_of(used)));
  if (slice_before(row) != 0)
    add_makers(out, row.makes.tensor, stage, op, op.slice() + slice_before(row), DependencyKind::Slice);
  return out;
}

std::vector<Dependency> Dependencies::needed_by(Op op) const {
  List out;
  const KindRow& row = row_of(op.kind());
  const std::int32_t stage = op.stage().value();
  const int step = step_to_consumer(op.kind());
  if (step != 0)
    add_makers(out, row.makes.tensor, stage + step, op, op.slice(), kind_of_use(row.makes.tensor));
  if (schedule_->shares_output()) add_readers(out, op);
  if (slice_before(row) != 0)
    add_makers(out, row.makes.tensor, stage, op, op.slice() - slice_before(row), DependencyKind::Slice);
  for (const KindRow& user : kKinds)
    for (const OpKind used : user.uses)
      if (used == op.kind()) add(out, user.kind, stage, op, op.slice(), kind_from(row));
  return out;
}

}  // namespace pipeloom
