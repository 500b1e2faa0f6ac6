"""Probabilistic programs: numpyro, blackjax, distrax, flowjax, tinygp, gpjax."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from .declaration import Workload, integers, library_program, normal


def logistic_regression(inputs: Any, labels: Any) -> None:
    """Bayesian logistic regression, as a model of numpyro."""
    import numpyro
    from numpyro import distributions

    weights = numpyro.sample("weights", distributions.Normal(0, 1).expand([inputs.shape[1]]).to_event(1))
    bias = numpyro.sample("bias", distributions.Normal(0, 1))
    numpyro.sample("labels", distributions.Bernoulli(logits=inputs @ weights + bias), obs=labels)


@library_program("numpyro", bound=1e-3)
def numpyro_nuts_step() -> Workload:
    from numpyro.infer import NUTS

    data = (normal(200, 8), integers(2, 200))
    kernel = NUTS(logistic_regression, step_size=0.05, max_tree_depth=5, adapt_step_size=False)
    state = kernel.init(jax.random.PRNGKey(0), 0, None, data, {})
    return lambda state: kernel.sample(state, data, {}), (state,)


@library_program("numpyro", bound=1e-3)
def numpyro_hmc_step() -> Workload:
    from numpyro.infer import HMC

    data = (normal(200, 8), integers(2, 200))
    kernel = HMC(logistic_regression, step_size=0.05, num_steps=20, adapt_step_size=False)
    state = kernel.init(jax.random.PRNGKey(0), 0, None, data, {})
    return lambda state: kernel.sample(state, data, {}), (state,)


@library_program("numpyro", bound=1e-3)
def numpyro_variational_step() -> Workload:
    from numpyro.infer import SVI, Trace_ELBO
    from numpyro.infer.autoguide import AutoNormal
    from numpyro.optim import Adam

    data = (normal(200, 8), integers(2, 200))
    inference = SVI(logistic_regression, AutoNormal(logistic_regression), Adam(1e-2), Trace_ELBO(8))
    state = inference.init(jax.random.PRNGKey(0), *data)
    return inference.update, (state, *data)


def banana(x: Any) -> Any:
    """The logarithm of Rosenbrock's density, of a vector of even length."""
    first, second = x[::2], x[1::2]
    return -(((1 - first) ** 2).sum() + 5 * ((second - first**2) ** 2).sum())


@library_program("blackjax", bound=1e-3)
def blackjax_nuts_step() -> Workload:
    import blackjax

    sampler = blackjax.nuts(banana, 0.05, jnp.ones(10), max_num_doublings=5)
    state = sampler.init(jnp.asarray(normal(10)))
    return lambda key, state: sampler.step(key, state)[0], (jax.random.PRNGKey(0), state)


@library_program("blackjax", bound=1e-3)
def blackjax_hmc_chains() -> Workload:
    import blackjax

    sampler = blackjax.hmc(banana, 0.02, jnp.ones(10), num_integration_steps=10)
    states = jax.vmap(sampler.init)(jnp.asarray(normal(64, 10)))

    def run(keys: Any, states: Any) -> Any:
        return jax.vmap(sampler.step)(keys, states)[0]

    return run, (jax.random.split(jax.random.PRNGKey(0), 64), states)


@library_program("distrax", bound=1e-3)
def distrax_spline_flow_training() -> Workload:
    import distrax
    import haiku as hk
    import optax

    features, parameters_per_feature = 6, 3 * 8 + 1

    def log_density(values: Any) -> Any:
        layers = []
        for index in range(3):
            mask = jnp.arange(features) % 2 == index % 2
            conditioner = hk.Sequential(
                [
                    hk.nets.MLP([64, 64], activate_final=True),
                    hk.Linear(features * parameters_per_feature),
                    hk.Reshape((features, parameters_per_feature)),
                ]
            )
            layers.append(
                distrax.MaskedCoupling(
                    mask,
                    conditioner,
                    lambda parameters: distrax.RationalQuadraticSpline(parameters, -4.0, 4.0),
                )
            )
        flow = distrax.Inverse(distrax.Chain(layers))
        base = distrax.Independent(distrax.Normal(jnp.zeros(features), jnp.ones(features)), 1)
        return distrax.Transformed(base, flow).log_prob(values)

    model = hk.without_apply_rng(hk.transform(log_density))
    values = normal(128, features)
    parameters = model.init(jax.random.key(0), values)
    optimizer = optax.adam(1e-3)

    def step(parameters: Any, state: Any, values: Any) -> Any:
        loss, gradient = jax.value_and_grad(lambda p: -model.apply(p, values).mean())(parameters)
        updates, new_state = optimizer.update(gradient, state)
        return loss, optax.apply_updates(parameters, updates), new_state

    return step, (parameters, optimizer.init(parameters), values)


@library_program("tinygp", bound=1e-8, x64=True)
def tinygp_likelihood_gradient() -> Workload:
    import tinygp

    def negative_likelihood(parameters: Any, x: Any, y: Any) -> Any:
        kernel = jnp.exp(parameters[0]) * tinygp.kernels.Matern52(jnp.exp(parameters[1]))
        return -tinygp.GaussianProcess(kernel, x, diag=jnp.exp(parameters[2])).log_probability(y)

    x = np.sort(np.random.default_rng(0).uniform(0, 10, 200))
    y = np.sin(x) + 0.1 * normal(200, dtype=np.float64)
    return jax.value_and_grad(negative_likelihood), (np.array([0.0, 0.0, -2.0]), x, y)


@library_program("tinygp", bound=1e-8, x64=True, sizes=(50, 200, 1600))
def tinygp_quasiseparable_gradient(observations: int) -> Workload:
    """Scans over small triangular matrices."""
    import tinygp

    quasisep = tinygp.kernels.quasisep

    def negative_likelihood(parameters: Any, x: Any, y: Any) -> Any:
        frequency, quality, scale = jnp.exp(parameters)
        kernel = quasisep.SHO(omega=frequency, quality=quality) + quasisep.Matern32(scale=scale)
        return -tinygp.GaussianProcess(kernel, x, diag=0.1).log_probability(y)

    x = np.sort(np.random.default_rng(0).uniform(0, 10, observations))
    y = np.sin(x) + 0.1 * normal(observations, dtype=np.float64)
    return jax.value_and_grad(negative_likelihood), (np.array([0.1, 0.2, 0.3]), x, y)


def hidden_markov_model(words: Any, states: int, vocabulary: int) -> None:
    """A hidden Markov model by the forward algorithm, as a model of numpyro."""
    import numpyro
    from numpyro import distributions

    transitions = numpyro.sample(
        "transitions", distributions.Dirichlet(jnp.ones((states, states))).to_event(1)
    )
    emissions = numpyro.sample(
        "emissions", distributions.Dirichlet(0.5 * jnp.ones((states, vocabulary))).to_event(1)
    )
    log_transitions, log_emissions = jnp.log(transitions), jnp.log(emissions)

    def forward(scores: Any, word: Any) -> Any:
        scores = jax.nn.logsumexp(scores[:, None] + log_transitions, axis=0) + log_emissions[:, word]
        return scores, None

    scores, _ = jax.lax.scan(forward, log_emissions[:, words[0]], words[1:])
    numpyro.factor("likelihood", jax.nn.logsumexp(scores))


@library_program("numpyro", bound=1e-3, sizes=(3, 16, 128))
def numpyro_markov_gradient(states: int) -> Workload:
    from numpyro.infer.util import initialize_model

    words, vocabulary = integers(20, 100), 20
    info = initialize_model(
        jax.random.PRNGKey(0), hidden_markov_model, model_args=(words, states, vocabulary)
    )
    return jax.value_and_grad(info.potential_fn), (info.param_info.z,)


@library_program("blackjax", bound=1e-3, sizes=(100, 400, 3200))
def blackjax_tempered_particles(particles: int) -> Workload:
    import blackjax
    from blackjax.smc import extend_params, resampling

    step = {"step_size": 0.1, "inverse_mass_matrix": jnp.eye(2), "num_integration_steps": 5}
    sampler = blackjax.adaptive_tempered_smc(
        lambda x: -0.5 * (x**2).sum() / 9,
        lambda x: -0.5 * ((jnp.abs(x) - 2) ** 2).sum() / 0.1,
        blackjax.hmc.build_kernel(),
        blackjax.hmc.init,
        extend_params(step),
        resampling.systematic,
        0.5,
        num_mcmc_steps=2,
    )

    def run(key: Any, initial: Any) -> Any:
        def advance(carry: Any) -> Any:
            state, key = carry
            key, used = jax.random.split(key)
            return sampler.step(used, state)[0], key

        state = sampler.init(initial)
        return jax.lax.while_loop(lambda carry: carry[0].tempering_param < 1, advance, (state, key))[0]

    return run, (jax.random.PRNGKey(0), normal(particles, 2, scale=3.0))


@library_program("tinygp", bound=1e-8, x64=True, sizes=(50, 200, 1600))
def tinygp_quasiseparable_prediction(observations: int) -> Workload:
    """The mean and the variance of a Gaussian process between its observations."""
    import tinygp

    quasisep = tinygp.kernels.quasisep

    def predict(scale: Any, x: Any, y: Any, between: Any) -> Any:
        kernel = quasisep.Matern52(scale=scale) + quasisep.Cosine(scale=2.0)
        process = tinygp.GaussianProcess(kernel, x, diag=0.1)
        predicted = process.condition(y, between)
        return predicted.log_probability, predicted.gp.loc, predicted.gp.variance

    x = np.sort(np.random.default_rng(0).uniform(0, 10, observations))
    y = np.sin(x) + 0.1 * normal(observations, dtype=np.float64)
    return predict, (np.float64(0.5), x, y, np.linspace(0, 10, 30))


@library_program("distrax", bound=1e-3, sizes=(4, 16, 128))
def distrax_markov_posterior(states: int) -> Workload:
    """The forward and the backward pass of a hidden Markov model with Gaussian emissions."""
    import distrax

    def posterior(initial: Any, transitions: Any, means: Any, values: Any) -> Any:
        model = distrax.HMM(
            init_dist=distrax.Categorical(logits=initial),
            trans_dist=distrax.Categorical(logits=transitions),
            obs_dist=distrax.Normal(means, jnp.ones(states)),
        )
        return model.forward_backward(values), model.viterbi(values)

    scores = normal(states), normal(states, states, seed=1)
    return posterior, (*scores, normal(states, seed=2), normal(100, seed=3))


@library_program("distrax", bound=1e-3, sizes=(64, 256, 2048))
def distrax_spline_samples(samples: int) -> Workload:
    """Rational quadratic splines and their inverses."""
    import distrax

    def transform(parameters: Any, values: Any) -> Any:
        spline = distrax.RationalQuadraticSpline(parameters, -3.0, 3.0, boundary_slopes="identity")
        forward, determinants = spline.forward_and_log_det(values)
        return forward, determinants, spline.inverse(0.9 * forward)

    return transform, (normal(8, 3 * 16 + 1), normal(samples, 8, seed=1))


@library_program("numpyro", bound=1e-3, sizes=(25, 100, 800))
def numpyro_autoregression_gradient(observations: int) -> Workload:
    """An autoregressive model with a hidden level, by the scan of numpyro."""
    import numpyro
    from numpyro import distributions
    from numpyro.contrib.control_flow import scan
    from numpyro.infer.util import initialize_model

    def model(values: Any) -> None:
        drift = numpyro.sample("drift", distributions.HalfCauchy(1.0))
        weight = numpyro.sample("weight", distributions.Normal(0, 1))
        noise = numpyro.sample("noise", distributions.HalfNormal(1.0))

        def advance(level: Any, value: Any) -> Any:
            level = numpyro.sample("level", distributions.Normal(weight * level, drift))
            return level, numpyro.sample("value", distributions.Normal(level, noise), obs=value)

        scan(advance, jnp.zeros(()), values)

    values = normal(observations)
    info = initialize_model(jax.random.PRNGKey(0), model, model_args=(values,))
    return jax.value_and_grad(info.potential_fn), (info.param_info.z,)


@library_program("blackjax", bound=1e-3, sizes=(32, 128, 1024))
def blackjax_hmc_chains_of(chains: int) -> Workload:
    """Chains of Hamiltonian Monte Carlo for a logistic regression."""
    import blackjax

    inputs, labels = normal(100, 8), integers(2, 100)

    def log_density(x: Any) -> Any:
        return -jnp.logaddexp(0.0, (1 - 2 * labels) * (inputs @ x)).sum() - 0.5 * (x**2).sum()

    sampler = blackjax.hmc(log_density, 0.05, jnp.ones(8), num_integration_steps=10)
    states = jax.vmap(sampler.init)(jnp.asarray(normal(chains, 8)))

    def run(keys: Any, states: Any) -> Any:
        return jax.vmap(sampler.step)(keys, states)[0]

    return run, (jax.random.split(jax.random.PRNGKey(0), chains), states)


@library_program("blackjax", bound=1e-3, sizes=(16, 64, 512))
def blackjax_elliptical_slices(chains: int) -> Workload:
    """Chains of elliptical slice sampling, each with a loop that ends when it has found a point."""
    import blackjax

    sampler = blackjax.elliptical_slice(
        lambda x: -0.5 * ((x - 1) ** 2).sum() / 0.5, mean=jnp.zeros(6), cov=jnp.eye(6)
    )
    states = jax.vmap(sampler.init)(jnp.asarray(normal(chains, 6)))

    def run(key: Any, states: Any) -> Any:
        def advance(states: Any, key: Any) -> Any:
            states = jax.vmap(sampler.step)(jax.random.split(key, chains), states)[0]
            return states, states.position

        return jax.lax.scan(advance, states, jax.random.split(key, 10))[1]

    return run, (jax.random.PRNGKey(0), states)


@library_program("flowjax", bound=1e-3, sizes=(32, 128, 1024))
def flowjax_spline_gradient(batch: int) -> Workload:
    """The gradient of the density of a flow of coupled splines, whose layers are a scan."""
    import equinox as eqx
    from flowjax.bijections import RationalQuadraticSpline
    from flowjax.distributions import Normal
    from flowjax.flows import coupling_flow

    flow = coupling_flow(
        jax.random.key(0),
        base_dist=Normal(jnp.zeros(4)),
        transformer=RationalQuadraticSpline(knots=8, interval=4),
        flow_layers=4,
    )
    parameters, static = eqx.partition(flow, eqx.is_inexact_array)

    def loss(parameters: Any, values: Any) -> Any:
        return -eqx.combine(parameters, static).log_prob(values).mean()

    return jax.value_and_grad(loss), (parameters, normal(batch, 4))


@library_program("flowjax", bound=1e-3, sizes=(8, 32, 256))
def flowjax_autoregressive_samples(samples: int) -> Workload:
    """Samples of a masked autoregressive flow, one dimension after the other."""
    import equinox as eqx
    from flowjax.distributions import Normal
    from flowjax.flows import masked_autoregressive_flow

    flow = masked_autoregressive_flow(
        jax.random.key(0), base_dist=Normal(jnp.zeros(6)), flow_layers=3, invert=True
    )
    parameters, static = eqx.partition(flow, eqx.is_inexact_array)

    def sample(parameters: Any, key: Any) -> Any:
        return eqx.combine(parameters, static).sample(jax.random.wrap_key_data(key), (samples,))

    return sample, (parameters, np.asarray(jax.random.key_data(jax.random.key(1))))


@library_program("blackjax", bound=1e-3, sizes=(32, 128, 1024))
def blackjax_langevin_chains(chains: int) -> Workload:
    """Chains of Metropolis' method adjusted by gradients (MALA), in a scan."""
    import blackjax

    sampler = blackjax.mala(banana, 0.01)
    states = jax.vmap(sampler.init)(jnp.asarray(normal(chains, 10)))

    def run(key: Any, states: Any) -> Any:
        def advance(states: Any, key: Any) -> Any:
            states = jax.vmap(sampler.step)(jax.random.split(key, chains), states)[0]
            return states, states.logdensity

        return jax.lax.scan(advance, states, jax.random.split(key, 20))[1]

    return run, (jax.random.PRNGKey(0), states)


@library_program("numpyro", bound=1e-3, sizes=(4, 16, 128))
def numpyro_mixture_gradient(components: int) -> Workload:
    """The gradient of a mixture of normal distributions, whose components are summed out."""
    import numpyro
    from numpyro import distributions
    from numpyro.infer.util import initialize_model

    def model(values: Any) -> None:
        weights = numpyro.sample("weights", distributions.Dirichlet(jnp.ones(components)))
        with numpyro.plate("components", components):
            means = numpyro.sample("means", distributions.Normal(0, 3))
            scales = numpyro.sample("scales", distributions.LogNormal(0, 0.5))
        mixture = distributions.MixtureSameFamily(
            distributions.Categorical(weights), distributions.Normal(means, scales)
        )
        numpyro.sample("values", mixture, obs=values)

    info = initialize_model(jax.random.PRNGKey(0), model, model_args=(normal(500),))
    return jax.value_and_grad(info.potential_fn), (info.param_info.z,)


@library_program("gpjax", bound=1e-6, x64=True, sizes=(50, 200, 800))
def gpjax_likelihood_gradient(observations: int) -> Workload:
    """The gradient of the marginal likelihood of a Gaussian process with a periodic kernel."""
    import equinox as eqx
    import gpjax

    x = np.sort(np.random.default_rng(0).uniform(0, 10, observations))[:, None]
    data = gpjax.Dataset(X=jnp.asarray(x), y=jnp.sin(x) + 0.1 * normal(observations, 1, dtype=np.float64))
    kernel = gpjax.kernels.RBF() * gpjax.kernels.Periodic()
    prior = gpjax.gps.Prior(mean_function=gpjax.mean_functions.Zero(), kernel=kernel)
    likelihood = gpjax.likelihoods.Gaussian(num_datapoints=observations)
    parameters, static = eqx.partition(prior * likelihood, eqx.is_inexact_array)

    def loss(parameters: Any) -> Any:
        return -gpjax.objectives.conjugate_mll(eqx.combine(parameters, static), data)

    return jax.value_and_grad(loss), (parameters,)
