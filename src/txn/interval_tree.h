// Ranges of keys that may overlap, ordered by where they begin, each subtree knowing which of its
// ranges ends last: so what overlaps a range is found in O(log(n)) for each that is looked at.
//
// A treap whose priorities are a mix of the numbers that nodes have, so that it has the same shape
// in each run. The nodes belong to the caller, and have
//
//   KeySpan range() const;
//   uint64_t number;    // unique, and does not change while it is in the tree
//   Node* left;         // these three are the tree's
//   Node* right;
//   const Node* last;   // of its subtree, one that ends last
//
// Thread-compatible.

#pragma once

#include <cstdint>

#include "txn/key_span.h"

namespace sluice {

template <typename Node>
class IntervalTree {
 public:
  void Insert(Node* node) {
    node->left = node->right = nullptr;
    root_ = Insert(root_, node);
  }
  // REQUIRES: it is in the tree.
  void Erase(Node* node) { root_ = Erase(root_, node); }

  // The first that overlaps `range` and of which `wanted(const Node&)` is true, in the order of
  // where they begin and, there, of their numbers; null if there is none.
  template <typename F>
  const Node* Find(const KeySpan& range, const F& wanted) const {
    return Find(root_, range, wanted);
  }

 private:
  static uint64_t Priority(const Node& node) {
    const uint64_t mixed = (node.number + 1) * 0x9e3779b97f4a7c15;
    return (mixed ^ mixed >> 29) * 0xbf58476d1ce4e5b9;
  }
  static bool Less(const Node& a, const Node& b) {
    const int order = a.range().begin().compare(b.range().begin());
    return order != 0 ? order < 0 : a.number < b.number;
  }
  static Node* WithLast(Node* node) {
    node->last = node;
    for (const Node* const child : {node->left, node->right}) {
      if (child != nullptr && !child->last->range().EndsBy(node->last->range())) {
        node->last = child->last;
      }
    }
    return node;
  }

  static Node* Insert(Node* root, Node* node) {
    if (root == nullptr || Priority(*node) > Priority(*root)) {
      Split(root, *node, &node->left, &node->right);
      return WithLast(node);
    }
    Node*& child = Less(*node, *root) ? root->left : root->right;
    child = Insert(child, node);
    return WithLast(root);
  }
  static void Split(Node* root, const Node& at, Node** less, Node** more) {
    if (root == nullptr) {
      *less = *more = nullptr;
    } else if (Less(*root, at)) {
      Split(root->right, at, &root->right, more);
      *less = WithLast(root);
    } else {
      Split(root->left, at, less, &root->left);
      *more = WithLast(root);
    }
  }
  static Node* Erase(Node* root, const Node* node) {
    if (root == node) {
      return Join(root->left, root->right);
    }
    Node*& child = Less(*node, *root) ? root->left : root->right;
    child = Erase(child, node);
    return WithLast(root);
  }
  // All of `a` is less than all of `b`.
  static Node* Join(Node* a, Node* b) {
    if (a == nullptr || b == nullptr) {
      return a != nullptr ? a : b;
    }
    if (Priority(*a) > Priority(*b)) {
      a->right = Join(a->right, b);
      return WithLast(a);
    }
    b->left = Join(a, b->left);
    return WithLast(b);
  }

  template <typename F>
  static const Node* Find(const Node* root, const KeySpan& range, const F& wanted) {
    if (root == nullptr || root->last->range().IsBefore(range)) {
      return nullptr;
    }
    if (const Node* const found = Find(root->left, range, wanted)) {
      return found;
    }
    const KeySpan own = root->range();
    if (range.IsBefore(own)) {
      return nullptr;  // and so it is before all that follow
    }
    if (!own.IsBefore(range) && wanted(*root)) {
      return root;
    }
    return Find(root->right, range, wanted);
  }

  Node* root_ = nullptr;
};

}  // namespace sluice
