// The one table of configuration keys: a row holds all facts about a key, and its member of Config is where the value
// lives. Codecs read and write it. Long as a table is: a row per key and no logic; cut in two, a key would be hard to find.

#include <algorithm>

#include <pipeloom/op.hpp>
#include "sim/io/config/effective_config.hpp"
#include "sim/io/config/make_key.hpp"

namespace pipeloom::io {
namespace {

/// Most microbatches of a run whose totals are found without all of its ops (study/run/repeated/repeated_run.hpp); other runs have at most kMaxIndex.
constexpr std::int64_t kMaxMicrobatches = std::int64_t{1} << 30;

using cost::CostSpec;
using cost::LinkSpec;
using cost::MemorySpec;
using cost::ModelSpec;
using cost::TransferSpec;

template <auto... members>
using InCosts = MemberAt<&Config::costs, members...>;
template <auto member>
using InModel = InCosts<&CostSpec::model, member>;
template <OpKind kind>
using Duration = InCosts<&CostSpec::duration, index_of(kind)>;
template <auto... members>
using InTransfer = InCosts<&CostSpec::transfer, members...>;
template <auto member>
using InMemory = MemberAt<&Config::memory, member>;

bool has_model(const EffectiveConfig& config) {
  return !config.costs.model.model.empty();
}
bool has_hardware(const EffectiveConfig& config) {
  return !config.costs.model.hardware.empty();
}
bool has_precision(const EffectiveConfig& config) {
  return !config.costs.model.precision.empty();
}
bool has_frozen(const EffectiveConfig& config) {
  return !config.costs.model.trainable.empty();
}
bool recomputes(const EffectiveConfig& config) {
  return config.options.recompute.on;
}
bool recomputes_layers(const EffectiveConfig& config) {
  return config.options.recompute.layers.has_value();
}
bool offloads(const EffectiveConfig& config) {
  return config.options.offload.on;
}
bool runs_recomputation(const EffectiveConfig& config) {
  return config.runs(OpKind::Recompute);
}
bool is_as_in_torch(const EffectiveConfig& config) {
  return config.costs.first_stage == cost::FirstStage::Torch;
}
bool has_messages(const EffectiveConfig& config) {
  return config.costs.transfer.model != cost::TransferModel::Latency;
}
bool has_entry_time(const EffectiveConfig& config) {
  return config.costs.entry != 0;
}
bool has_rank_time(const EffectiveConfig& config) {
  return config.costs.transfer.rank_time != 0;
}
bool posts_ahead(const EffectiveConfig& config) {
  return config.costs.transfer.plan == "ahead";
}

constexpr std::string_view kChunksDefault = "2 where the schedule needs or wants it, else 1";
constexpr std::string_view kDerived = "derived from the others, or 1 if no op costs are given";

constexpr Key kKeys[] = {
    key<codec::Text, MemberAt<&Config::schedule>>(
        {.path = "schedule",
         .group = KeyClass::Shape,
         .role = KeyRole::Decision,
         .help = "name of the schedule, or an alias (see `pipeloom schedules`)",
         .required = "--schedule NAME"}),
    key<codec::Count, MemberAt<&Config::ranks>>({.path = "ranks",
                                                 .group = KeyClass::Shape,
                                                 .role = KeyRole::Decision,
                                                 .help = "p, pipeline devices",
                                                 .minimum = 1,
                                                 .maximum = kMaxIndex,
                                                 .required = "--ranks P"}),
    key<codec::Count, MemberAt<&Config::microbatches>>(
        {.path = "microbatches",
         .group = KeyClass::Shape,
         .role = KeyRole::Decision,
         .help = "m, all microbatches of a step, both directions together",
         .minimum = 1,
         .maximum = kMaxMicrobatches,
         .required = "--microbatches M",
         .instead = "costs.global_batch"}),
    key<codec::Count, MemberAt<&Config::chunks>>({.path = "chunks",
                                                  .group = KeyClass::Shape,
                                                  .role = KeyRole::Decision,
                                                  .default_text = kChunksDefault,
                                                  .help = "v, stages per rank and model replica",
                                                  .minimum = 1,
                                                  .maximum = kMaxIndex}),
    group({.path = "options",
           .group = KeyClass::Option,
           .role = KeyRole::Decision,
           .default_text = "{}",
           .help = "what only some schedules take"}),
    option<codec::GroupSize, &ScheduleOptions::group_size>(
        {.path = "options.group_size",
         .default_text = "ranks, or the alias's rule",
         .help = "interleaved schedules: microbatches per round, or one number for each round",
         .minimum = 1,
         .maximum = kMaxIndex,
         .option = Option::GroupSize,
         .noun = "groups of microbatches",
         .page = "microbatches of a group, or a list of one for each, default ranks"}),
    option<codec::Slices, &ScheduleOptions::slices>(
        {.path = "options.slices",
         .default_text = "2",
         .help = "seq-1f1b: pieces of a sequence, equal or by weight",
         .minimum = 1,
         .maximum = kMaxSlices,
         .option = Option::Slices,
         .noun = "sequence slices",
         .page = "pieces of a sequence, or a list of their weights, default {}"}),
    option<codec::Count, &ScheduleOptions::waves>({.path = "options.waves",
                                                   .default_text = "1",
                                                   .help = "hanayo: how often the stages run down and up",
                                                   .minimum = 1,
                                                   .maximum = kMaxIndex / 2,
                                                   .option = Option::Waves,
                                                   .noun = "waves",
                                                   .page = "1 or more, default 1",
                                                   .decides_chunks = true}),
    option<codec::Count, &ScheduleOptions::updates>({.path = "options.updates",
                                                     .default_text = "4",
                                                     .help = "pipedream-2bw: optimizer updates in one run",
                                                     .minimum = 1,
                                                     .maximum = kMaxIndex,
                                                     .option = Option::Updates,
                                                     .noun = "updates without a flush",
                                                     .page = "optimizer updates of the run, default {}"}),
    option<codec::Text, &ScheduleOptions::variant>({.path = "options.variant",
                                                    .default_text = "the schedule's first",
                                                    .help = "which of the schedule's variants",
                                                    .option = Option::Variant,
                                                    .noun = "variants",
                                                    .page = "{}",
                                                    .decides_chunks = true}),
    group({.path = "options.memory_limit",
           .group = KeyClass::Option,
           .role = KeyRole::Decision,
           .default_text = "memory.limit_bytes, else the schedule's own",
           .help = "automatic schedules: the activations that a rank may hold; one of the two",
           .option = Option::MemoryLimit,
           .noun = "memory limit of its own (memory.limit_bytes is for all schedules)",
           .page = "{\"bytes\": n} or {\"microbatches\": x} of activations, default memory.limit_bytes, else "
                   "{}",
           .exactly_one = "{\"bytes\": n} or {\"microbatches\": x}, one of the two"}),
    option<codec::Bytes, &ScheduleOptions::memory_limit, &MemoryLimit::bytes>(
        {.path = "options.memory_limit.bytes",
         .unit = "bytes",
         .default_text = "none",
         .help = "the same on every rank",
         .option = Option::MemoryLimit,
         .has_origin = false}),
    option<codec::Decimal, &ScheduleOptions::memory_limit, &MemoryLimit::microbatches>(
        {.path = "options.memory_limit.microbatches",
         .default_text = "none",
         .help = "in microbatches of what one of the first two ranks holds; may be fractional",
         .option = Option::MemoryLimit,
         .has_origin = false}),
    option<codec::Text, &ScheduleOptions::file>(
        {.path = "options.file",
         .default_text = "none",
         .help = "custom: the schedule file, relative to the configuration",
         .option = Option::File,
         .noun = "file (the schedule custom has)",
         .has_origin = false}),
    option<codec::Recompute, &ScheduleOptions::recompute>(
        {.path = "options.recompute",
         .default_text = "none",
         .help = "run forwards again before their backward instead of keeping activations",
         .has_origin = false}),
    option<codec::Count, &ScheduleOptions::recompute, &RecomputeOption::keep>(
        {.path = "options.recompute.keep",
         .default_text = "0",
         .help = "of a rank's outstanding passes, so many keep their activations",
         .maximum = kMaxIndex,
         .holds = recomputes,
         .has_origin = false}),
    option<codec::Stages, &ScheduleOptions::recompute, &RecomputeOption::stages>(
        {.path = "options.recompute.stages",
         .default_text = "all",
         .help = "stages whose forwards, or modules, run again",
         .maximum = kMaxIndex,
         .has_origin = false}),
    option<codec::RecomputeModules, &ScheduleOptions::recompute, &RecomputeOption::modules>(
        {.path = "options.recompute.modules",
         .default_text = "none",
         .help = "with costs.model: modules of a layer that run again within the backward",
         .has_origin = false}),
    option<codec::Count, &ScheduleOptions::recompute, &RecomputeOption::layers>(
        {.path = "options.recompute.layers",
         .default_text = "all",
         .help = "with costs.model: layers of a stage that run again, or of a group that runs again as one",
         .minimum = 1,
         .maximum = kMaxIndex,
         .has_origin = false}),
    option<codec::Choice, &ScheduleOptions::recompute, &RecomputeOption::method>(
        {.path = "options.recompute.method",
         .default_text = "block",
         .help = "block: the first layers of each stage run again; uniform: all of them, in groups of that "
                 "number "
                 "that keep their first input alone",
         .choices = "block|uniform",
         .needs = "options.recompute.layers",
         .holds = recomputes_layers,
         .has_origin = false}),
    option<codec::Offload, &ScheduleOptions::offload>({.path = "options.offload",
                                                       .default_text = "none",
                                                       .help = "copy activations to the host and back",
                                                       .has_origin = false}),
    option<codec::Count, &ScheduleOptions::offload, &OffloadOption::chunks>(
        {.path = "options.offload.chunks",
         .default_text = "all",
         .help = "chunks of each rank that go, the longest-lived first",
         .maximum = kMaxIndex,
         .holds = offloads,
         .has_origin = false}),
    option<codec::Count, &ScheduleOptions::offload, &OffloadOption::prefetch>(
        {.path = "options.offload.prefetch",
         .default_text = "1",
         .help = "entries between the issue of a reload and its use",
         .maximum = kMaxIndex,
         .holds = offloads,
         .has_origin = false}),
    option<codec::Count, &ScheduleOptions::offload, &OffloadOption::min_gap>(
        {.path = "options.offload.min_gap",
         .default_text = "3",
         .help = "passes with fewer entries between forward and backward stay",
         .maximum = kMaxIndex,
         .holds = offloads,
         .has_origin = false}),
    option<codec::Stages, &ScheduleOptions::offload, &OffloadOption::stages>(
        {.path = "options.offload.stages",
         .default_text = "all",
         .help = "stages whose activations go",
         .maximum = kMaxIndex,
         .has_origin = false}),
    option<codec::Flag, &ScheduleOptions::forward_only>({.path = "options.forward_only",
                                                         .default_text = "false",
                                                         .help = "drop everything but the forwards"}),
    group({.path = "costs",
           .group = KeyClass::Cost,
           .default_text = "{}",
           .help = "how long ops and transfers take; or the name of a file that holds this object"}),
    key<codec::Text, InModel<&ModelSpec::model>>(
        {.path = "costs.model",
         .group = KeyClass::Cost,
         .default_text = "none",
         .help = "a model's name or file: times and bytes that are not stated follow from it",
         .patchable = false}),
    key<codec::Text, InModel<&ModelSpec::hardware>>(
        {.path = "costs.hardware",
         .group = KeyClass::Cost,
         .default_text = "none",
         .help = "the device that costs.model runs on: a name or a file",
         .needs = "costs.model",
         .patchable = false,
         .holds = has_hardware}),
    key<codec::Choice, InModel<&ModelSpec::precision>>(
        {.path = "costs.precision",
         .group = KeyClass::Cost,
         .role = KeyRole::Decision,
         .default_text = "the hardware's",
         .help = "costs.model: what products with weights run in; attention and all else stay in 16 bits",
         .choices = "bf16|fp8|mxfp8",
         .needs = "costs.model",
         .holds = has_precision}),
    key<codec::Count, InModel<&ModelSpec::tensor>>(
        {.path = "costs.tp",
         .group = KeyClass::Cost,
         .role = KeyRole::Decision,
         .default_text = "1",
         .help = "costs.model: ranks that share each layer (tensor and sequence parallel)",
         .minimum = 1,
         .maximum = kMaxIndex,
         .needs = "costs.model",
         .holds = has_model}),
    key<codec::Count, InModel<&ModelSpec::data>>({.path = "costs.dp",
                                                  .group = KeyClass::Cost,
                                                  .role = KeyRole::Decision,
                                                  .default_text = "1",
                                                  .help = "costs.model: replicas of the pipeline",
                                                  .minimum = 1,
                                                  .maximum = kMaxIndex,
                                                  .needs = "costs.model",
                                                  .patchable = false,
                                                  .holds = has_model}),
    key<codec::Count, InModel<&ModelSpec::context>>({.path = "costs.cp",
                                                     .group = KeyClass::Cost,
                                                     .role = KeyRole::Decision,
                                                     .default_text = "1",
                                                     .help = "costs.model: ranks that share each sequence",
                                                     .minimum = 1,
                                                     .maximum = kMaxIndex,
                                                     .needs = "costs.model",
                                                     .holds = has_model}),
    key<codec::Count, InModel<&ModelSpec::expert>>(
        {.path = "costs.ep",
         .group = KeyClass::Cost,
         .role = KeyRole::Decision,
         .default_text = "1",
         .help = "costs.model: ranks that share the experts of a layer",
         .minimum = 1,
         .maximum = kMaxIndex,
         .needs = "costs.model",
         .holds = has_model}),
    key<codec::Count, InModel<&ModelSpec::zero>>(
        {.path = "costs.zero",
         .group = KeyClass::Cost,
         .role = KeyRole::Decision,
         .default_text = "1",
         .help = "costs.model: what replicas share out: 1 optimizer states, 2 gradients too, 3 weights too",
         .minimum = 0,
         .maximum = 3,
         .needs = "costs.model",
         .holds = has_model}),
    key<codec::Count, InModel<&ModelSpec::shards>>(
        {.path = "costs.shards",
         .group = KeyClass::Cost,
         .role = KeyRole::Decision,
         .default_text = "costs.dp",
         .help = "costs.model: neighbouring data ranks that share out what costs.zero says; the groups are "
                 "replicas",
         .minimum = 1,
         .maximum = kMaxIndex,
         .needs = "costs.model",
         .patchable = false,
         .holds = has_model}),
    key<codec::Count, InModel<&ModelSpec::gradient_bytes>>(
        {.path = "costs.gradient_bytes",
         .group = KeyClass::Cost,
         .role = KeyRole::Decision,
         .default_text = "4",
         .help = "costs.model: bytes of a parameter's gradient, as it is kept and reduced",
         .minimum = 1,
         .maximum = 4,
         .needs = "costs.model",
         .patchable = false,
         .holds = has_model}),
    key<codec::Count, InModel<&ModelSpec::optimizer_bytes>>(
        {.path = "costs.optimizer_bytes",
         .group = KeyClass::Cost,
         .role = KeyRole::Decision,
         .default_text = "12",
         .help =
             "costs.model: bytes that the optimizer keeps of a parameter: 12 a 32-bit weight and two 32-bit "
             "moments, 8 with moments of 16 bits, 6 of 8 bits",
         .minimum = 0,
         .maximum = 16,
         .needs = "costs.model",
         .patchable = false,
         .holds = has_model}),
    key<codec::TrainableParts, InModel<&ModelSpec::trainable>>(
        {.path = "costs.trainable",
         .group = KeyClass::Cost,
         .role = KeyRole::Decision,
         .default_text = "all",
         .help =
             "costs.model: weights that are trained: all, none (adapters alone), or parts between commas: "
             "embedding, encoder, projector, attention, mlp, experts, head",
         .needs = "costs.model",
         .patchable = false,
         .holds = has_frozen}),
    key<codec::Count, InModel<&ModelSpec::adapter_rank>>(
        {.path = "costs.adapter_rank",
         .group = KeyClass::Cost,
         .role = KeyRole::Decision,
         .default_text = "0",
         .help = "costs.trainable: rank of the adapters beside the decoder's products that are frozen",
         .minimum = 0,
         .maximum = kMaxIndex,
         .needs = "costs.trainable",
         .patchable = false,
         .holds = has_frozen}),
    key<codec::Count, InModel<&ModelSpec::sequence>>({.path = "costs.seq",
                                                      .group = KeyClass::Cost,
                                                      .role = KeyRole::Environment,
                                                      .default_text = "the model's",
                                                      .help = "costs.model: tokens of a sample",
                                                      .minimum = 1,
                                                      .maximum = kMaxIndex,
                                                      .needs = "costs.model",
                                                      .holds = has_model}),
    key<codec::Documents, InModel<&ModelSpec::documents>>(
        {.path = "costs.documents",
         .group = KeyClass::Cost,
         .default_text = "one per sample",
         .help = "costs.model: lengths of the documents that are packed into each sample of a microbatch; "
                 "attention stays inside each",
         .minimum = 1,
         .maximum = kMaxIndex,
         .needs = "costs.model",
         .holds = has_model}),
    key<codec::Count, InModel<&ModelSpec::micro_batch>>({.path = "costs.micro_batch",
                                                         .group = KeyClass::Cost,
                                                         .role = KeyRole::Decision,
                                                         .default_text = "1",
                                                         .help = "costs.model: samples of a microbatch",
                                                         .minimum = 1,
                                                         .maximum = kMaxIndex,
                                                         .needs = "costs.model",
                                                         .patchable = false,
                                                         .holds = has_model}),
    key<codec::Count, InModel<&ModelSpec::global_batch>>(
        {.path = "costs.global_batch",
         .group = KeyClass::Cost,
         .role = KeyRole::Environment,
         .default_text = "microbatches * micro_batch * dp",
         .help = "costs.model: samples of a step, instead of microbatches",
         .minimum = 1,
         .maximum = kMaxIndex,
         .needs = "costs.model",
         .patchable = false,
         .holds = has_model}),
    key<codec::Flag, InModel<&ModelSpec::sequence_parallel>>(
        {.path = "costs.sequence_parallel",
         .group = KeyClass::Cost,
         .role = KeyRole::Decision,
         .default_text = "true",
         .help = "costs.model: what tensor ranks do not share goes by tokens over them",
         .needs = "costs.model",
         .holds = has_model}),
    key<codec::Flag, InModel<&ModelSpec::flash>>({.path = "costs.flash",
                                                  .group = KeyClass::Cost,
                                                  .role = KeyRole::Decision,
                                                  .default_text = "true",
                                                  .help = "costs.model: attention keeps no scores",
                                                  .needs = "costs.model",
                                                  .holds = has_model}),
    key<codec::Flag, InModel<&ModelSpec::fused_experts>>(
        {.path = "costs.fused_experts",
         .group = KeyClass::Cost,
         .role = KeyRole::Decision,
         .default_text = "true",
         .help =
             "costs.model: experts' activation and weighting are one kernel; without, each keeps its input",
         .needs = "costs.model",
         .holds = has_model}),
    key<codec::Choice, InModel<&ModelSpec::order>>(
        {.path = "costs.order",
         .group = KeyClass::Cost,
         .role = KeyRole::Decision,
         .default_text = "tp-cp-ep-dp-pp",
         .help = "costs.model: how devices are numbered, the dimension of the nearest neighbours first",
         .choices = "tp-cp-ep-dp-pp|tp-cp-ep-pp-dp|pp-tp-cp-ep-dp",
         .needs = "costs.model",
         .holds = has_model}),
    key<codec::Choice, InModel<&ModelSpec::reduction>>(
        {.path = "costs.reduction",
         .group = KeyClass::Cost,
         .default_text = "exposed",
         .help = "costs.model: gradients are summed over replicas after the last backward, or behind it "
                 "layer by layer",
         .choices = "exposed|overlapped",
         .needs = "costs.model",
         .holds = has_model}),
    key<codec::Decimal, InModel<&ModelSpec::expert_load>>(
        {.path = "costs.expert_load",
         .group = KeyClass::Cost,
         .default_text = "1",
         .help = "costs.model: tokens of the expert rank that gets most over the mean of its group, 1 to ep",
         .needs = "costs.model",
         .patchable = false,
         .holds = has_model}),
    key<codec::Decimal, InModel<&ModelSpec::compute_scale>>(
        {.path = "costs.compute_scale",
         .group = KeyClass::Cost,
         .default_text = "1",
         .help =
             "costs.model: factor of all times of passes but exchanges, 0.01 to 100: what measured steps say",
         .needs = "costs.model",
         .patchable = false,
         .holds = has_model}),
    key<codec::Share, InModel<&ModelSpec::hidden_collectives>>(
        {.path = "costs.hidden_collectives",
         .group = KeyClass::Cost,
         .default_text = "0",
         .help = "costs.model: share of the layers' collectives, 0 to 1, that products hide",
         .needs = "costs.model",
         .patchable = false,
         .holds = has_model}),
    group({.path = "costs.hidden",
           .group = KeyClass::Cost,
           .default_text = "{}",
           .help = "costs.model: shares of exchanges that products hide, by the ranks that take part"}),
    key<codec::Share, InModel<&ModelSpec::hidden_tensor>>(
        {.path = "costs.hidden.tp",
         .group = KeyClass::Cost,
         .default_text = "costs.hidden_collectives",
         .help = "costs.model: share of the exchanges of tensor ranks, 0 to 1, that products hide",
         .needs = "costs.model",
         .patchable = false,
         .holds = has_model}),
    key<codec::Share, InModel<&ModelSpec::hidden_context>>(
        {.path = "costs.hidden.cp",
         .group = KeyClass::Cost,
         .default_text = "costs.hidden_collectives",
         .help = "costs.model: share of the exchanges of context ranks, 0 to 1, that products hide",
         .needs = "costs.model",
         .patchable = false,
         .holds = has_model}),
    key<codec::Share, InModel<&ModelSpec::hidden_expert>>(
        {.path = "costs.hidden.ep",
         .group = KeyClass::Cost,
         .default_text = "costs.hidden_collectives",
         .help = "costs.model: share of the exchanges of expert ranks, 0 to 1, that products hide",
         .needs = "costs.model",
         .patchable = false,
         .holds = has_model}),
    key<codec::Share, InModel<&ModelSpec::hidden_data>>(
        {.path = "costs.hidden.dp",
         .group = KeyClass::Cost,
         .default_text = "0",
         .help = "costs.model: share of the gradients' reduction, 0 to 1, that products hide",
         .needs = "costs.model",
         .patchable = false,
         .holds = has_model}),
    key<codec::Choice, InCosts<&CostSpec::unit>>({.path = "costs.time_unit",
                                                  .group = KeyClass::Cost,
                                                  .default_text = "unit",
                                                  .help = "unit of every time in the file",
                                                  .choices = "unit|s|ms|us|ns"}),
    key<codec::Choice, InCosts<&CostSpec::per>>(
        {.path = "costs.per",
         .group = KeyClass::Cost,
         .default_text = "stage",
         .help = "what op times are for: one stage pass, all stages of a rank, the whole model",
         .choices = "stage|rank|model"}),
    key<codec::Counts, InCosts<&CostSpec::layers>>(
        {.path = "costs.layers",
         .group = KeyClass::Cost,
         .role = KeyRole::Decision,
         .default_text = "none: numbers are of the schedule's stages",
         .help = "decoder layers of each stage that was measured; numbers are dealt out by them where the "
                 "schedule has other stages",
         .maximum = kMaxIndex}),
    key<codec::Counts, InCosts<&CostSpec::stage_ranks>>(
        {.path = "costs.stage_ranks",
         .group = KeyClass::Cost,
         .default_text = "stage s on rank s mod ranks",
         .help = "the rank that ran each stage of costs.layers",
         .maximum = kMaxIndex}),
    key<codec::StageTimes, Duration<OpKind::Forward>>({.path = "costs.forward",
                                                       .group = KeyClass::Cost,
                                                       .unit = "time_unit",
                                                       .default_text = "1 if no op costs are given",
                                                       .help = "F, the forward of one stage"}),
    key<codec::StageTimes, Duration<OpKind::Backward>>(
        {.path = "costs.backward",
         .group = KeyClass::Cost,
         .unit = "time_unit",
         .default_text = "backward_input + backward_weight, or 2 if no op costs are given",
         .help = "B, the whole backward of one stage"}),
    key<codec::StageTimes, Duration<OpKind::BackwardInput>>({.path = "costs.backward_input",
                                                             .group = KeyClass::Cost,
                                                             .unit = "time_unit",
                                                             .default_text = kDerived,
                                                             .help = "I, the gradient of the stage's input"}),
    key<codec::StageTimes, Duration<OpKind::BackwardWeight>>(
        {.path = "costs.backward_weight",
         .group = KeyClass::Cost,
         .unit = "time_unit",
         .default_text = kDerived,
         .help = "W, the gradient of the stage's weights"}),
    key<codec::StageTimes, Duration<OpKind::Recompute>>({.path = "costs.recompute",
                                                         .group = KeyClass::Cost,
                                                         .unit = "time_unit",
                                                         .default_text = "forward",
                                                         .help = "R, a forward run again"}),
    key<codec::StageTimes, Duration<OpKind::Offload>>({.path = "costs.offload",
                                                       .group = KeyClass::Cost,
                                                       .unit = "time_unit",
                                                       .default_text = "1 if no op costs are given",
                                                       .help = "O, the copy of a stage pass to the host"}),
    key<codec::StageTimes, Duration<OpKind::Reload>>({.path = "costs.reload",
                                                      .group = KeyClass::Cost,
                                                      .unit = "time_unit",
                                                      .default_text = "offload",
                                                      .help = "L, the copy back"}),
    key<codec::StageTimes, Duration<OpKind::Output>>(
        {.path = "costs.output",
         .group = KeyClass::Cost,
         .unit = "time_unit",
         .default_text = "1 if no op costs are given",
         .help = "S, a stage's share of an output layer that all stages share: logits and loss"}),
    key<codec::StageTimes, Duration<OpKind::OutputWeight>>({.path = "costs.output_weight",
                                                            .group = KeyClass::Cost,
                                                            .unit = "time_unit",
                                                            .default_text = "1 if no op costs are given",
                                                            .help = "T, the gradients of that share"}),
    key<codec::Overlapped, InCosts<&CostSpec::overlap>>(
        {.path = "costs.overlapped",
         .group = KeyClass::Cost,
         .unit = "time_unit",
         .default_text = "sum",
         .help = "an overlapped pair of F and B: a time by the forward's stage, a factor of F + B, a saving, "
                 "\"sequential\" or \"sum\""}),
    key<codec::Choice, InCosts<&CostSpec::first_stage>>(
        {.path = "costs.first_stage",
         .group = KeyClass::Cost,
         .default_text = "full",
         .help =
             "stage 0 of a split backward: as every stage, or nothing in I and I + W in W as PyTorch has it",
         .choices = "full|torch",
         .holds = is_as_in_torch}),
    key<codec::Scales, InCosts<&CostSpec::rank_scale>>(
        {.path = "costs.rank_scale",
         .group = KeyClass::Cost,
         .default_text = "1 for every rank",
         .help = "one factor per rank for all its op times: unequal devices"}),
    key<codec::Scales, InCosts<&CostSpec::stage_scale>>(
        {.path = "costs.stage_scale",
         .group = KeyClass::Cost,
         .default_text = "1 for every stage",
         .help = "one factor per stage for all its op times"}),
    key<codec::Scales, InCosts<&CostSpec::microbatch_scale>>(
        {.path = "costs.microbatch_scale",
         .group = KeyClass::Cost,
         .default_text = "1 for every microbatch",
         .help = "one factor per microbatch: packed sequences"}),
    key<codec::Exceptions, InCosts<&CostSpec::exceptions>>(
        {.path = "costs.exceptions",
         .group = KeyClass::Cost,
         .default_text = "none",
         .help =
             "ops that take another time, or so many times theirs; the last row that names an op counts"}),
    key<codec::Table, InCosts<&CostSpec::table>>(
        {.path = "costs.table",
         .group = KeyClass::Cost,
         .default_text = "none",
         .help = "measured times of single ops; costs.exceptions stand above them"}),
    key<codec::Time, InCosts<&CostSpec::entry>>(
        {.path = "costs.entry",
         .group = KeyClass::Cost,
         .unit = "time_unit",
         .default_text = "0",
         .help = "what every op takes besides (launch, host), after all scales; a group once",
         .holds = has_entry_time}),
    key<codec::Noise, MemberAt<&Config::costs>>(
        {.path = "costs.noise",
         .group = KeyClass::Cost,
         .default_text = "none",
         .help = "how durations vary from step to step, for simulate --scenarios"}),
    group({.path = "costs.transfer",
           .group = KeyClass::Transfer,
           .default_text = "{}",
           .help = "tensors that cross ranks"}),
    key<codec::Choice, InTransfer<&TransferSpec::model>>(
        {.path = "costs.transfer.model",
         .group = KeyClass::Transfer,
         .default_text = "latency",
         .help = "how transfers behave: hidden, groups that block, issue and wait apart, shared links",
         .choices = "latency|blocking|async|link",
         .patchable = false,
         .written_at = 1}),
    key<codec::Choice, InTransfer<&TransferSpec::plan>>(
        {.path = "costs.transfer.plan",
         .group = KeyClass::Transfer,
         .role = KeyRole::Decision,
         .default_text = "auto",
         .help = "where sends, receives and waits stand: auto takes the schedule's own framework's, else "
                 "step (blocking) or at-sender",
         .choices = "auto|step|entry|overlap|overlap-flush|at-sender|before-use|ahead",
         .patchable = false,
         .holds = has_messages,
         .written_at = 6}),
    key<codec::Count, InTransfer<&TransferSpec::ahead>>(
        {.path = "costs.transfer.ahead",
         .group = KeyClass::Transfer,
         .role = KeyRole::Decision,
         .default_text = "1",
         .help = "plan ahead: entries by which a receive is posted before its use",
         .maximum = kMaxIndex,
         .holds = posts_ahead,
         .written_at = 7}),
    key<codec::Time, InTransfer<&TransferSpec::link, &LinkSpec::latency>>(
        {.path = "costs.transfer.latency",
         .group = KeyClass::Transfer,
         .unit = "time_unit",
         .default_text = "0",
         .help = "from the end of a tensor's producer to its arrival, without the bytes",
         .written_at = 2}),
    key<codec::Bytes, InTransfer<&TransferSpec::bytes>>({.path = "costs.transfer.bytes",
                                                         .group = KeyClass::Transfer,
                                                         .unit = "bytes",
                                                         .default_text = "0",
                                                         .help = "size of a tensor between two stages",
                                                         .written_at = 4}),
    key<codec::Decimal, InTransfer<&TransferSpec::link, &LinkSpec::bits_per_second>>(
        {.path = "costs.transfer.bandwidth_gbps",
         .group = KeyClass::Transfer,
         .unit = "1e9 bit/s",
         .default_text = "none: bytes take no time",
         .help = "bandwidth of a link; not with the abstract time unit",
         .patchable = false,
         .written_at = 3}),
    key<codec::Choice, InTransfer<&TransferSpec::queue>>(
        {.path = "costs.transfer.queue",
         .group = KeyClass::Transfer,
         .default_text = "per-pair",
         .help = "which messages of a rank share a queue; read by async and link",
         .choices = "per-rank|per-direction|per-pair",
         .written_at = 5}),
    key<codec::Count, InTransfer<&TransferSpec::ranks_per_node>>(
        {.path = "costs.transfer.ranks_per_node",
         .group = KeyClass::Transfer,
         .default_text = "none: all hops are alike",
         .help = "rank r is on node r / ranks_per_node",
         .minimum = 1,
         .maximum = kMaxIndex,
         .patchable = false,
         .written_at = 8}),
    key<codec::Time, InTransfer<&TransferSpec::rank_time>>(
        {.path = "costs.transfer.rank_time",
         .group = KeyClass::Transfer,
         .unit = "time_unit",
         .default_text = "0",
         .help = "what each message takes of its sender's and of its receiver's compute lane",
         .holds = has_rank_time,
         .written_at = 11}),
    key<codec::Links, InCosts<&CostSpec::transfer>>(
        {.path = "costs.transfer.links",
         .group = KeyClass::Transfer,
         .default_text = "none",
         .help = "links between two ranks that differ, both ways unless oneway, or all links as matrices",
         .written_at = 12}),
    group({.path = "costs.transfer.intra",
           .group = KeyClass::Transfer,
           .default_text = "as costs.transfer",
           .help = "hops within a node",
           .written_at = 9}),
    key<codec::Time, InTransfer<&TransferSpec::intra, &LinkSpec::latency>>(
        {.path = "costs.transfer.intra.latency",
         .group = KeyClass::Transfer,
         .unit = "time_unit",
         .default_text = "costs.transfer.latency",
         .help = "latency within a node"}),
    key<codec::Decimal, InTransfer<&TransferSpec::intra, &LinkSpec::bits_per_second>>(
        {.path = "costs.transfer.intra.bandwidth_gbps",
         .group = KeyClass::Transfer,
         .unit = "1e9 bit/s",
         .default_text = "costs.transfer.bandwidth_gbps",
         .help = "bandwidth within a node",
         .patchable = false}),
    group({.path = "costs.transfer.inter",
           .group = KeyClass::Transfer,
           .default_text = "as costs.transfer",
           .help = "hops between nodes",
           .written_at = 10}),
    key<codec::Time, InTransfer<&TransferSpec::inter, &LinkSpec::latency>>(
        {.path = "costs.transfer.inter.latency",
         .group = KeyClass::Transfer,
         .unit = "time_unit",
         .default_text = "costs.transfer.latency",
         .help = "latency between nodes"}),
    key<codec::Decimal, InTransfer<&TransferSpec::inter, &LinkSpec::bits_per_second>>(
        {.path = "costs.transfer.inter.bandwidth_gbps",
         .group = KeyClass::Transfer,
         .unit = "1e9 bit/s",
         .default_text = "costs.transfer.bandwidth_gbps",
         .help = "bandwidth between nodes",
         .patchable = false}),
    group({.path = "memory", .group = KeyClass::Memory, .default_text = "{}", .help = "what a rank holds"}),
    key<codec::Choice, InMemory<&MemorySpec::per>>(
        {.path = "memory.per",
         .group = KeyClass::Memory,
         .default_text = "rank if costs.per is rank, else stage",
         .help = "what activation, static and stash bytes are for: one stage, all stages of a rank, the "
                 "whole model",
         .choices = "stage|rank|model"}),
    key<codec::StageBytes, InMemory<&MemorySpec::activation>>(
        {.path = "memory.activation_bytes",
         .group = KeyClass::Memory,
         .unit = "bytes",
         .default_text = "1",
         .help = "held from F of a (stage, microbatch) until B or W ends"}),
    key<codec::StageBytes, InMemory<&MemorySpec::released_at_input>>(
        {.path = "memory.released_at_input",
         .group = KeyClass::Memory,
         .unit = "bytes",
         .default_text = "0",
         .help = "the part of activation_bytes that the end of I frees"}),
    key<codec::StageBytes, InMemory<&MemorySpec::static_bytes>>(
        {.path = "memory.static_bytes",
         .group = KeyClass::Memory,
         .unit = "bytes",
         .default_text = "0",
         .help = "weights, gradients and optimizer state of a stage: always held"}),
    key<codec::StageBytes, InMemory<&MemorySpec::receive>>(
        {.path = "memory.receive_bytes",
         .group = KeyClass::Memory,
         .unit = "bytes",
         .default_text = "0",
         .help = "a tensor under way to a stage, until it is consumed"}),
    key<codec::StageBytes, InMemory<&MemorySpec::stash>>(
        {.path = "memory.stash_bytes",
         .group = KeyClass::Memory,
         .unit = "bytes",
         .default_text = "0",
         .help = "what a recomputed forward keeps of activation_bytes",
         .holds = runs_recomputation}),
    key<codec::StageBytes, InMemory<&MemorySpec::logits>>(
        {.path = "memory.logits_bytes",
         .group = KeyClass::Memory,
         .unit = "bytes",
         .default_text = "0",
         .help = "output of the last stage, from F until its B or I ends"}),
    key<codec::Limit, InMemory<&MemorySpec::limit>>(
        {.path = "memory.limit_bytes",
         .group = KeyClass::Memory,
         .unit = "bytes",
         .default_text = "null",
         .help = "most bytes that a rank may hold, for all or one per rank; null for no limit"}),
    group({.path = "step",
           .group = KeyClass::Step,
           .default_text = "{}",
           .help = "how one training step follows the other"}),
    key<codec::Choice, MemberAt<&Config::step, &Steps::rule>>(
        {.path = "step.rule",
         .group = KeyClass::Step,
         .default_text = "barrier",
         .help = "whether ranks wait for all before the next step",
         .choices = "barrier|post-validation"}),
    key<codec::Time, MemberAt<&Config::step, &Steps::optimizer>>(
        {.path = "step.optimizer",
         .group = KeyClass::Step,
         .unit = "time_unit",
         .default_text = "0",
         .help = "time of the optimizer at the end of a step"}),
    key<codec::Count, MemberAt<&Config::step, &Steps::count>>(
        {.path = "step.count",
         .group = KeyClass::Step,
         .default_text = "1",
         .help = "steps to simulate; metrics are of the first",
         .minimum = 1,
         .maximum = kMaxIndex}),
};

constexpr bool paths_are_unique() {
  for (std::size_t i = 0; i < std::size(kKeys); ++i)
    for (std::size_t j = 0; j < i; ++j)
      if (kKeys[i].path == kKeys[j].path) return false;
  return true;
}
static_assert(paths_are_unique(), "a path stands twice");

/// True if the group of every key comes before it.
constexpr bool parents_come_first() {
  for (std::size_t i = 0; i < std::size(kKeys); ++i) {
    const auto dot = kKeys[i].path.rfind('.');
    bool found = dot == std::string_view::npos;
    for (std::size_t j = 0; j < i; ++j) found = found || kKeys[j].path == kKeys[i].path.substr(0, dot);
    if (!found) return false;
  }
  return true;
}
static_assert(parents_come_first(), "a key stands before its group");
static_assert(std::size(kKeys) <= GivenKeys::kMost, "GivenKeys has a bit for every key");

}  // namespace

std::span<const Key> config_keys() {
  return kKeys;
}

}  // namespace pipeloom::io
