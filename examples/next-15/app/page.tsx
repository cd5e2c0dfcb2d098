export default function Home() {
  return <p>POST /api/start begins an order.</p>;
}
