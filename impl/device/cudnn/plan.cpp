#include "impl/device/cudnn/plan.h"

#include <array>
#include <deque>

#include "impl/device/cudnn/library.h"
#include "impl/device/device.h"

namespace shardproof::cudnn {
namespace {

class Descriptor {
 public:
  explicit Descriptor(cudnnBackendDescriptorType_t type) {
    check(library().create_descriptor(type, &handle_), "a descriptor");
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() { library().destroy_descriptor(handle_); }

  cudnnBackendDescriptor_t handle() const { return handle_; }
  Descriptor& set_all(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                      int64_t count, const void* values) {
    check(library().set(handle_, name, type, count, values),
          "attribute " + std::to_string(name) + " of a graph");
    return *this;
  }
  template <class T>
  Descriptor& set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                  const T& value) {
    return set_all(name, type, 1, &value);
  }
  Descriptor& set(cudnnBackendAttributeName_t name, const Descriptor& other) {
    return set(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, other.handle_);
  }
  Descriptor& finish(const std::string& what) {
    check(library().finalize(handle_), what);
    return *this;
  }

 private:
  cudnnBackendDescriptor_t handle_ = nullptr;
};

cudnnDataType_t type_of(Element element) {
  switch (element) {
    case Element::bf16:
      return CUDNN_DATA_BFLOAT16;
    case Element::i32:
      return CUDNN_DATA_INT32;
    case Element::u8:
      return CUDNN_DATA_BOOLEAN;
    case Element::f64:
    case Element::f32:
    case Element::u32:
    case Element::u64:
      break;
  }
  return CUDNN_DATA_FLOAT;
}

cudnnPointwiseMode_t mode_of(GraphFn fn) {
  switch (fn) {
    case GraphFn::multiply:
      return CUDNN_POINTWISE_MUL;
    case GraphFn::add:
      return CUDNN_POINTWISE_ADD;
    case GraphFn::subtract:
      return CUDNN_POINTWISE_SUB;
    case GraphFn::divide:
      return CUDNN_POINTWISE_DIV;
    case GraphFn::exp:
      return CUDNN_POINTWISE_EXP;
    case GraphFn::log:
      return CUDNN_POINTWISE_LOG;
    case GraphFn::index:
      return CUDNN_POINTWISE_GEN_INDEX;
    case GraphFn::at_least:
      return CUDNN_POINTWISE_CMP_GE;
    case GraphFn::select:
      return CUDNN_POINTWISE_BINARY_SELECT;
    case GraphFn::identity:
    case GraphFn::largest:
    case GraphFn::sum:
    case GraphFn::product:
    case GraphFn::turned:
      break;
  }
  return CUDNN_POINTWISE_IDENTITY;
}

int64_t id_of(size_t tensor) { return static_cast<int64_t>(tensor) + 1; }

/// Translates the graph to cuDNN's API.
class Translation {
 public:
  explicit Translation(const TensorGraph& graph) {
    for (size_t t = 0; t < graph.tensors.size(); ++t) add(graph.tensors[t], id_of(t));
    for (const GraphOp& op : graph.ops) add(op, graph.tensors[op.result]);
  }
  const std::deque<Descriptor>& operations() const { return operations_; }

 private:
  void add(const GraphTensor& tensor, int64_t id) {
    tensors_.emplace_back(CUDNN_BACKEND_TENSOR_DESCRIPTOR)
        .set(CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, id)
        .set(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, type_of(tensor.element))
        .set_all(CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, 4, tensor.extents.data())
        .set_all(CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, 4, tensor.strides.data())
        .set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, int64_t{16})
        .set(CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN,
             tensor.kind == GraphTensor::Kind::passing)
        .set(CUDNN_ATTR_TENSOR_IS_BY_VALUE, CUDNN_TYPE_BOOLEAN,
             tensor.kind == GraphTensor::Kind::number)
        .finish("a tensor of a graph");
  }

  const Descriptor& argument(const GraphOp& op, size_t i) const {
    return tensors_[op.arguments[i]];
  }

  void add(const GraphOp& op, const GraphTensor& result) {
    switch (op.fn) {
      case GraphFn::product:
        return add_product(op);
      case GraphFn::sum:
      case GraphFn::largest:
        return add_reduction(op);
      case GraphFn::turned:
        operations_.emplace_back(CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR)
            .set(CUDNN_ATTR_OPERATION_RESHAPE_XDESC, argument(op, 0))
            .set(CUDNN_ATTR_OPERATION_RESHAPE_YDESC, tensors_[op.result])
            .finish("a turned tensor of a graph");
        return;
      case GraphFn::multiply:
      case GraphFn::add:
      case GraphFn::subtract:
      case GraphFn::divide:
      case GraphFn::exp:
      case GraphFn::log:
      case GraphFn::identity:
      case GraphFn::index:
      case GraphFn::at_least:
      case GraphFn::select:
        break;
    }
    add_pointwise(op, result);
  }

  void add_product(const GraphOp& op) {
    Descriptor& kind = kinds_.emplace_back(CUDNN_BACKEND_MATMUL_DESCRIPTOR);
    kind.set(CUDNN_ATTR_MATMUL_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT)
        .finish("a product of a graph");
    operations_.emplace_back(CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR)
        .set(CUDNN_ATTR_OPERATION_MATMUL_ADESC, argument(op, 0))
        .set(CUDNN_ATTR_OPERATION_MATMUL_BDESC, argument(op, 1))
        .set(CUDNN_ATTR_OPERATION_MATMUL_CDESC, tensors_[op.result])
        .set(CUDNN_ATTR_OPERATION_MATMUL_DESC, kind)
        .finish("a product of a graph");
  }

  void add_reduction(const GraphOp& op) {
    Descriptor& kind = kinds_.emplace_back(CUDNN_BACKEND_REDUCTION_DESCRIPTOR);
    kind.set(CUDNN_ATTR_REDUCTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT)
        .set(CUDNN_ATTR_REDUCTION_OPERATOR, CUDNN_TYPE_REDUCTION_OPERATOR_TYPE,
             op.fn == GraphFn::sum ? CUDNN_REDUCE_TENSOR_ADD : CUDNN_REDUCE_TENSOR_MAX)
        .finish("a reduction of a graph");
    operations_.emplace_back(CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR)
        .set(CUDNN_ATTR_OPERATION_REDUCTION_XDESC, argument(op, 0))
        .set(CUDNN_ATTR_OPERATION_REDUCTION_YDESC, tensors_[op.result])
        .set(CUDNN_ATTR_OPERATION_REDUCTION_DESC, kind)
        .finish("a reduction of a graph");
  }

  void add_pointwise(const GraphOp& op, const GraphTensor& result) {
    Descriptor& kind = kinds_.emplace_back(CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
    kind.set(CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, mode_of(op.fn))
        .set(CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE,
             result.element == Element::u8 ? CUDNN_DATA_BOOLEAN : CUDNN_DATA_FLOAT);
    if (op.fn == GraphFn::index) kind.set(CUDNN_ATTR_POINTWISE_AXIS, CUDNN_TYPE_INT64, op.axis);
    kind.finish("a pointwise op of a graph");
    Descriptor& made = operations_.emplace_back(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
    made.set(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, kind)
        .set(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, argument(op, 0))
        .set(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, tensors_[op.result]);
    if (op.arguments.size() > 1) made.set(CUDNN_ATTR_OPERATION_POINTWISE_BDESC, argument(op, 1));
    if (op.arguments.size() > 2) made.set(CUDNN_ATTR_OPERATION_POINTWISE_TDESC, argument(op, 2));
    made.finish("a pointwise op of a graph");
  }

  std::deque<Descriptor> tensors_, kinds_, operations_;
};

}  // namespace

struct Plan::State {
  State(const TensorGraph& graph, const Target& target) : graph(graph), translation(graph) {
    std::vector<cudnnBackendDescriptor_t> all;
    for (const Descriptor& each : translation.operations()) all.push_back(each.handle());
    operations.set_all(CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR,
                       static_cast<int64_t>(all.size()), all.data());
    if (target.handle)
      operations.set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, target.handle);
    operations.finish("a graph");
    if (target.handle) return;
    device.emplace_back(CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR)
        .set_all(CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, CUDNN_TYPE_CHAR,
                 static_cast<int64_t>(target.properties.size()), target.properties.data())
        .finish("the properties of a GPU");
  }

  /// The engines that cuDNN suggests, best first.
  void find_engines() {
    Descriptor heuristics(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
    heuristics.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, operations)
        .set(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, CUDNN_HEUR_MODE_A);
    if (!device.empty()) heuristics.set(CUDNN_ATTR_ENGINEHEUR_DEVICEPROP, device[0]);
    heuristics.finish("an engine for a graph");
    std::array<cudnnBackendDescriptor_t, 8> handles{};
    for (cudnnBackendDescriptor_t& handle : handles)
      handle = engines.emplace_back(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR).handle();
    int64_t found = 0;
    check(library().get(heuristics.handle(), CUDNN_ATTR_ENGINEHEUR_RESULTS,
                        CUDNN_TYPE_BACKEND_DESCRIPTOR, static_cast<int64_t>(handles.size()), &found,
                        handles.data()),
          "an engine for a graph");
    while (engines.size() > static_cast<size_t>(found)) engines.pop_back();
  }

  void make(const Descriptor& engine, const Target& target) {
    Descriptor& made = plans.emplace_back(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
    made.set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, engine);
    if (target.handle)
      made.set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, target.handle);
    else
      made.set(CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP, device[0]);
    made.finish("a plan of a graph");
  }

  TensorGraph graph;
  Translation translation;
  Descriptor operations{CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR};
  std::deque<Descriptor> device, engines, plans;  ///< plans: the last one is in use
};

Plan::Plan(const TensorGraph& graph, const Target& target) {
  if (!library().missing.empty()) throw DeviceError(library().missing);
  state_ = std::make_unique<State>(graph, target);
  state_->find_engines();
  std::string why = "cuDNN has no engine for a graph";
  bool made = false;
  for (const Descriptor& engine : state_->engines) {
    try {
      state_->make(engine, target);
      made = true;
      break;
    } catch (const DeviceError& error) {
      why += std::string("\n") + error.what();
    }
  }
  if (!made) throw DeviceError(why);
  int64_t bytes = 0, count = 0;
  check(library().get(state_->plans.back().handle(), CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE,
                      CUDNN_TYPE_INT64, 1, &count, &bytes),
        "the workspace of a graph");
  workspace_ = static_cast<size_t>(bytes);
}

Plan::~Plan() = default;

void Plan::execute(cudnnContext* handle, const std::vector<void*>& memory, void* workspace) const {
  std::vector<int64_t> ids;
  std::vector<void*> pointers;
  for (size_t t = 0; t < state_->graph.tensors.size(); ++t) {
    GraphTensor& tensor = state_->graph.tensors[t];
    if (tensor.kind == GraphTensor::Kind::passing) continue;
    ids.push_back(id_of(t));
    pointers.push_back(tensor.kind == GraphTensor::Kind::number ? &tensor.number : memory[t]);
  }
  const auto count = static_cast<int64_t>(ids.size());
  Descriptor pack(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
  pack.set_all(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, count, ids.data())
      .set_all(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, count, pointers.data())
      .set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, workspace)
      .finish("the arrays of a graph");
  check(library().execute(handle, state_->plans.back().handle(), pack.handle()), "a graph");
}

}  // namespace shardproof::cudnn
