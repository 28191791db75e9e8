#pragma once

// One block (executor/layers/block.hpp) as work that is queued on a stream of a device. The device is a parameter: CudaEngine
// (executor/cuda/kernels/cuda_engine.hpp) on a GPU, a made-up one in tests, which runs the same kernels' functions on the host and streams in any
// order that their events allow.
//
// An Engine has
//
//   Stream, Event                 Stream is copied like a number
//   Buffer                        device memory, moved and never copied: data(), bytes(), as<T>(), empty(), free_on(stream)
//   HostBuffer                    memory of the host; copies to and from it run at the same time as other work: data(), bytes()
//   allocate(bytes, stream)       contents are not set
//   allocate_host(bytes)
//   copy(to, from, bytes, stream) of any two kinds of memory
//   clear(to, bytes, stream)
//   own_stream()                  a stream that nothing else uses
//   upload(data, bytes)           a Buffer of its own; waits until the data is there
//   download(to, from, bytes)     waits until the data is there; the caller has waited for what was queued
//   record(event, stream), wait(stream, event)
//   multiply(ColumnProduct, first, second, result, Into, arithmetic, stream)
//   for_cells(function, rows, columns, stream), for_rows(function, rows, stream)     of executor/cuda/kernels/kernels.hpp
//
// T is the type of activations and weights. Gradients of weights are float.

#include <cstddef>
#include <span>
#include <utility>

#include "executor/cuda/kernels/kernels.hpp"
#include "executor/cuda/kernels/product.hpp"
#include "executor/layers/block.hpp"

namespace pipeloom::executor::cuda {

/// BlockTape on a device.
template <class Engine>
struct QueuedTape {
  using Buffer = typename Engine::Buffer;
  Buffer standardized;
  Buffer inverse_deviation;  ///< float
  Buffer normed;
  Buffer hidden;
  Buffer activated;
  Buffer output_gradient;
  Buffer hidden_gradient;
  Buffer normed_gradient;
};

/// Calls fn(buffer) for each of them, in a fixed order.
template <class Tape, class Fn>
void for_each_buffer(Tape& tape, Fn&& fn) {
  fn(tape.standardized);
  fn(tape.inverse_deviation);
  fn(tape.normed);
  fn(tape.hidden);
  fn(tape.activated);
  fn(tape.output_gradient);
  fn(tape.hidden_gradient);
  fn(tape.normed_gradient);
}

/// One pass of `rows` rows through a block, in functions as block.hpp has them. All of it goes to one stream.
template <class Engine, class T>
class QueuedBlock {
 public:
  using Buffer = typename Engine::Buffer;
  using Stream = typename Engine::Stream;
  using Tape = QueuedTape<Engine>;

  QueuedBlock(Engine& engine, BlockShape shape, std::size_t rows, Stream stream)
      : engine_(engine), shape_(shape), rows_(rows), stream_(stream) {}

  /// Returns y of x [rows][width], and keeps what the backward needs in the tape.
  [[nodiscard]] Buffer forward(std::span<const T> parameters, Buffer x, Tape& tape) {
    const BlockParameters<const T> p(shape_, parameters);
    normalize(p, x, tape);
    tape.hidden = tensor(shape_.hidden);
    multiply({rows_, shape_.hidden, shape_.width}, Sides::Plain, tape.normed, p.w1, tape.hidden,
             Into::Replace);
    tape.activated = tensor(shape_.hidden);
    engine_.for_cells(BiasActivation<T>{shape_.hidden, shape_.arithmetic, p.b1.data(),
                                        tape.hidden.template as<T>(), tape.activated.template as<T>()},
                      rows_, shape_.hidden, stream_);
    engine_.for_cells(AddBias<T>{shape_.width, p.b2.data(), x.template as<T>()}, rows_, shape_.width,
                      stream_);
    multiply({rows_, shape_.width, shape_.hidden}, Sides::Plain, tape.activated, p.w2, x, Into::Add);
    return x;
  }

  /// Returns dx of e [rows][width]; frees the tensors that weight_gradient() does not need.
  [[nodiscard]] Buffer input_gradient(std::span<const T> parameters, Buffer e, Tape& tape) {
    const BlockParameters<const T> p(shape_, parameters);
    tape.hidden_gradient = tensor(shape_.hidden);
    multiply({rows_, shape_.hidden, shape_.width}, Sides::TransposedRight, e, p.w2, tape.hidden_gradient,
             Into::Replace);
    engine_.for_cells(ActivationGradient<T>{shape_.hidden, shape_.arithmetic, tape.hidden.template as<T>(),
                                            tape.hidden_gradient.template as<T>()},
                      rows_, shape_.hidden, stream_);
    free(tape.hidden);
    Buffer dx = tensor(shape_.width);
    if (shape_.arithmetic == Arithmetic::Integer) {
      engine_.copy(dx.data(), e.data(), dx.bytes(), stream_);
      multiply({rows_, shape_.width, shape_.hidden}, Sides::TransposedRight, tape.hidden_gradient, p.w1, dx,
               Into::Add);
    } else {
      through_norm(p, e, dx, tape);
    }
    tape.output_gradient = std::move(e);
    return dx;
  }

  /// Adds to `gradient`. REQUIRES: nothing else adds to it meanwhile.
  void weight_gradient(const Tape& tape, std::span<float> gradient) {
    const BlockParameters<float> to(shape_, gradient);
    multiply_into({shape_.hidden, shape_.width, rows_}, tape.activated, tape.output_gradient, to.w2);
    add_rows(tape.output_gradient, nullptr, to.b2);
    multiply_into({shape_.width, shape_.hidden, rows_}, tape.normed, tape.hidden_gradient, to.w1);
    add_rows(tape.hidden_gradient, nullptr, to.b1);
    if (shape_.arithmetic == Arithmetic::Integer) return;
    add_rows(tape.normed_gradient, nullptr, to.shift);
    add_rows(tape.normed_gradient, tape.standardized.template as<T>(), to.gain);
  }

 private:
  [[nodiscard]] Buffer tensor(std::size_t columns) {
    return engine_.allocate(rows_ * columns * sizeof(T), stream_);
  }
  /// Frees in the order of this stream, which is not always the one that the buffer was made on.
  void free(Buffer& buffer) {
    buffer.free_on(stream_);
    buffer = Buffer();
  }

  void normalize(const BlockParameters<const T>& p, const Buffer& x, Tape& tape) {
    tape.normed = tensor(shape_.width);
    if (shape_.arithmetic == Arithmetic::Integer) {
      engine_.copy(tape.normed.data(), x.data(), x.bytes(), stream_);
      return;
    }
    tape.standardized = tensor(shape_.width);
    tape.inverse_deviation = engine_.allocate(rows_ * sizeof(float), stream_);
    engine_.for_rows(
        NormForward<T>{shape_.width, x.template as<T>(), p.gain.data(), p.shift.data(),
                       tape.standardized.template as<T>(), tape.inverse_deviation.template as<float>(),
                       tape.normed.template as<T>()},
        rows_, stream_);
  }

  void through_norm(const BlockParameters<const T>& p, const Buffer& e, Buffer& dx, Tape& tape) {
    tape.normed_gradient = tensor(shape_.width);
    multiply({rows_, shape_.width, shape_.hidden}, Sides::TransposedRight, tape.hidden_gradient, p.w1,
             tape.normed_gradient, Into::Replace);
    engine_.for_rows(
        NormBackward<T>{shape_.width, tape.normed_gradient.template as<T>(), p.gain.data(),
                        tape.standardized.template as<T>(), tape.inverse_deviation.template as<float>(),
                        e.template as<T>(), dx.template as<T>()},
        rows_, stream_);
    free(tape.inverse_deviation);
  }

  void multiply(ProductShape shape, Sides sides, const Buffer& a, std::span<const T> b, Buffer& c,
                Into into) {
    engine_.multiply(column_product(shape, sides), b.data(), static_cast<const T*>(a.template as<T>()),
                     c.template as<T>(), into, shape_.arithmetic, stream_);
  }
  /// c += a^T b.
  void multiply_into(ProductShape shape, const Buffer& a, const Buffer& b, std::span<float> c) {
    engine_.multiply(column_product(shape, Sides::TransposedLeft), static_cast<const T*>(b.template as<T>()),
                     static_cast<const T*>(a.template as<T>()), c.data(), Into::Add, shape_.arithmetic,
                     stream_);
  }

  /// sum += all rows of a, or of a b.
  void add_rows(const Buffer& a, const T* b, std::span<float> sum) {
    const std::size_t parts = parts_of(rows_);
    const Buffer part = engine_.allocate(parts * sum.size() * sizeof(float), stream_);
    engine_.for_cells(ColumnPart<T>{rows_, sum.size(), a.template as<T>(), b, part.template as<float>()},
                      parts, sum.size(), stream_);
    engine_.for_cells(ColumnTotal{parts, sum.size(), part.template as<float>(), sum.data()}, 1, sum.size(),
                      stream_);
  }

  Engine& engine_;
  BlockShape shape_;
  std::size_t rows_;
  Stream stream_;
};

}  // namespace pipeloom::executor::cuda
