// Strings of bytes that compare, with memcmp, as what they stand for does: the parts of which keys
// are put together. Each encoding is prefix-free: what follows a value never decides an order that
// the value itself decides, and two values are equal only if their bytes are.

#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace sluice::mariadb {

// Appends bytes of any length, ordered bytewise, a prefix before what it is a prefix of.
void AppendBytes(std::string_view bytes, std::string* key);

// Appends the weights of a string that compares as if it went on with `pad` for ever, as strings of
// the collations with PAD SPACE do: weights that differ only in `pad`s at their end are equal.
// REQUIRES: `pad` is not empty.
void AppendPadded(std::string_view weights, std::string_view pad, std::string* key);

// Where a value ends, in a key that the two above wrote, whose order may be reversed; beyond the key
// if the key is damaged. `pad` has so many bytes.
size_t EndOfBytes(std::string_view key, size_t begin, bool reversed);
size_t EndOfPadded(std::string_view key, size_t begin, size_t pad, bool reversed);

// Reverses the order of what `key` holds from `begin` on.
void Reverse(size_t begin, std::string* key);

// The first string behind all those that begin with `prefix`; empty if there is none.
std::string Successor(std::string_view prefix);

}  // namespace sluice::mariadb
