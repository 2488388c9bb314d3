"""Which torch functions need more than "same device in, same device out", by name. Names only: nothing here runs."""

from __future__ import annotations

from typing import Final


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


LOOKS: Final = _names(
    """
    size dim ndimension numel nelement stride storage_offset element_size is_contiguous is_complex is_floating_point
    is_signed is_inference is_conj is_neg is_coalesced is_shared is_set_to is_same_size is_tensor is_storage
    is_distributed requires_grad_ retain_grad untyped_storage storage typed_storage _typed_storage data_ptr dim_order
    dense_dim sparse_dim __len__ __hash__ __dir__ __setstate__ __reduce_ex__ set_ share_memory_ result_type can_cast
    promote_types _has_compatible_shallow_copy_type has_names backward register_post_accumulate_grad_hook
    broadcast_tensors broadcast_shapes broadcast_to expand expand_as view view_as reshape_as detach detach_ t transpose
    permute unsqueeze squeeze narrow select as_strided unbind __iter__ swapaxes movedim chunk split
    """
)
"""Functions that look at a tensor, or give views of it: a view has its base's label without help."""

SYNCS: Final = _names(
    """
    item tolist __bool__ __int__ __float__ __complex__ __index__ is_nonzero nonzero argwhere masked_select unique
    unique_consecutive equal allclose __contains__ _local_scalar_dense bincount
    """
)
"""Functions whose result the CPU has to wait for."""

STRICT: Final = _names(
    "stack hstack vstack dstack column_stack row_stack embedding index_select gather take take_along_dim"
)
"""Functions in which even a 0-dim CPU tensor may not meet a GPU tensor."""

LIKE: Final = _names(
    """
    zeros_like ones_like empty_like full_like rand_like randn_like randint_like new_zeros new_ones new_empty new_full
    new_empty_strided new_tensor
    """
)
"""Constructors that are on the device of their first argument unless they get a ``device``."""

RECURRENT: Final = _names("lstm gru rnn_tanh rnn_relu")
CONVOLUTIONS: Final = frozenset(f"conv{kind}{n}d" for kind in ("", "_transpose") for n in (1, 2, 3))

IN_FLOAT32: Final = _names(
    """
    __pow__ __rpow__ __rdiv__ __rtruediv__ acos asin binary_cross_entropy_with_logits cosh cosine_embedding_loss cdist
    cosine_similarity cross_entropy cross_entropy_loss cumprod cumsum dist erfinv exp expm1 group_norm
    hinge_embedding_loss kl_div l1_loss layer_norm log log10 log_softmax log1p log2 margin_ranking_loss mse_loss
    multilabel_margin_loss multi_margin_loss nll_loss nll_loss_nd norm normalize pdist poisson_nll_loss pow prod
    reciprocal rsqrt sinh smooth_l1_loss soft_margin_loss softmax softmin softplus sum renorm tan triplet_margin_loss
    """
)
"""What ``autocast("cuda")`` computes in float32, as torch's documentation lists it."""
