"""Samples the posterior of a linear regression with numpyro's NUTS."""

import json

import jax
import jax.numpy as jnp
import numpyro
from numpyro import distributions
from numpyro.infer import MCMC, NUTS


def model(x, y=None):
    """A line with noise."""
    offset = numpyro.sample("offset", distributions.Normal(0, 1))
    slope = numpyro.sample("slope", distributions.Normal(0, 1))
    noise = numpyro.sample("noise", distributions.HalfNormal(1))
    numpyro.sample("y", distributions.Normal(offset + slope * x, noise), obs=y)


x = jnp.linspace(-1, 1, 50)
y = 0.5 + 1.5 * x + 0.1 * jax.random.normal(jax.random.key(1), (50,))
sampler = MCMC(NUTS(model), num_warmup=100, num_samples=100, progress_bar=False)
sampler.run(jax.random.key(0), x, y)
print(json.dumps({name: [float(values.mean())] for name, values in sampler.get_samples().items()}))
