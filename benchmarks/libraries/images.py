"""Images: dm-pix, jaxwt."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from .declaration import Workload, library_program


def images(count: int, size: int) -> np.ndarray[Any, Any]:
    """Random images in [0, 1)."""
    return np.random.default_rng(0).random((count, size, size, 3), np.float32)


@library_program("dm-pix", bound=1e-3, sizes=(8, 32, 256))
def dm_pix_augmentation(batch: int) -> Workload:
    """Crops and changes of colour, another one for each image."""
    import dm_pix

    def augment(key: Any, image: Any) -> Any:
        keys = jax.random.split(key, 4)
        image = dm_pix.random_crop(keys[0], image, (28, 28, 3))
        image = dm_pix.random_flip_left_right(keys[1], image)
        image = dm_pix.random_hue(keys[2], image, 0.1)
        image = dm_pix.random_contrast(keys[3], image, 0.8, 1.2)
        return dm_pix.gaussian_blur(image, 1.0, 5, padding="SAME")

    return jax.vmap(augment), (jax.random.split(jax.random.PRNGKey(0), batch), images(batch, 32))


@library_program("dm-pix", bound=1e-3, sizes=(32, 128, 1024))
def dm_pix_rotation(size: int) -> Workload:
    import dm_pix

    return lambda image: dm_pix.rotate(image, 0.3, mode="constant"), (images(1, size)[0],)


@library_program("dm-pix", bound=1e-3, sizes=(1, 4, 32))
def dm_pix_similarity_gradient(batch: int) -> Workload:
    """The gradient of the structural similarity of images."""
    import dm_pix

    first = images(batch, 64)
    second = jnp.asarray(first[:, ::-1])
    return jax.value_and_grad(lambda first: dm_pix.ssim(first, second).mean()), (first,)


@library_program("jaxwt", bound=1e-3, sizes=(1, 4, 32))
def jaxwt_wavelet_gradient(batch: int) -> Workload:
    """The gradient of the wavelet coefficients of images: convolutions by long, strided steps."""
    import jaxwt

    def sparsity(values: Any) -> Any:
        coefficients = jaxwt.wavedec2(values, "db4", level=3, mode="reflect")
        return sum(jnp.abs(leaf).mean() for leaf in jax.tree.leaves(coefficients))

    return jax.value_and_grad(sparsity), (images(batch, 64)[..., 0],)
