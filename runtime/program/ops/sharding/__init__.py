"""The sdy dialect: meshes, shardings, and the collectives that change shardings."""
